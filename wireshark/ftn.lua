-- Dissects FTN, the protocol of the token service, in UDP (docs/token-service/messages.md).

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
local ringd = dofile(folder .. "reader.lua")
local values = dofile(folder .. "ftn_values.lua")(ringd)

local TYPES = {
    [11] = "LOGIN", [12] = "CONFIG", [13] = "CATALOG", [14] = "ALIVE", [15] = "LOGOUT", [21] = "REQUEST", [22] = "GRANT",
    [23] = "REVOKE", [24] = "RETURN", [25] = "CONFIRM", [31] = "STATE", [32] = "HEARTBEAT", [33] = "ELECT",
    [34] = "TRANSFER", [35] = "TRANSFERRED", [41] = "PART", [42] = "PARTED",
}
local SERVER_STATES = { [0] = "DOWN", "BOOTING", "READY" }
local ACCESSES = { [1] = "shared", [-1] = "exclusive" }
local HOLDER_ACCESSES = { [0] = "not held", [1] = "shared", [-1] = "exclusive" }
local FLAGS = { "UPDATE", "DEASSIGN", "UPDATE and DEASSIGN" }
local SHARED, EXCLUSIVE = 1, -1
local I32, I64, TEXT, BYTES = ftypes.INT32, ftypes.INT64, ftypes.STRING, ftypes.BYTES

local protocol = ringd.protocol("FTN", "FTN, the protocol of ringd ftn", {
    { "type", I32, "Type of the message", TYPES },
    { "from", I32, "Sender: the index of a server, or the id of a session" },
    { "to", I32, "Recipient: the index of a server, or the id of a session" },
    { "ssig", I32, "Signature of the sender's list of servers" },
    { "p", TEXT, "Port of the client, as :portnum" },
    { "leader", I64, "Number of the configuration, which determines the leader" },
    { "elect.leader", I32, "Server for which the sender of an ELECT votes, or -1" },
    { "sstates", I32, "State of a server, in the order of the list", SERVER_STATES },
    { "sstate", I32, "State of the sender", SERVER_STATES },
    { "msgnum", I64, "Number of the message at its client, or of the transfer at its server" },
    { "name", TEXT, "Name of a token" },
    { "data", BYTES, "Data of a token" },
    { "access", I32, "Requested access, or access of the holders", HOLDER_ACCESSES },
    { "holders", I32, "Session that holds a token" },
    { "flags", I32, "Changes that a RETURN requests", FLAGS },
    { "configuration", I64, "Number of the configuration in a seq" },
    { "round", I64, "Round in a seq" },
    { "clients.id", I32, "Id of a session" },
    { "clients.address", TEXT, "Address of a session's client" },
    { "part", I32, "Number of the part, from 0" },
    { "parts", I32, "Number of parts" },
    { "content", I64, "Number of the message that is sent in parts" },
    { "bytes", BYTES, "Bytes of the part" },
    { "came", BYTES, "One bit for each part that has arrived; empty if all parts have arrived" },
    { "terms", TEXT, "Terms: the options of the sender" },
    { "terms.client_timeout", I64, "Silence after which a session ends, in microseconds" },
    { "terms.quorum", I32, "Number of servers that must acknowledge the leader" },
    { "terms.heartbeat", I64, "Period of STATE in microseconds" },
    { "terms.server_timeout", I64, "Silence after which a server is DOWN, in microseconds" },
    { "terms.grace", I64, "Time for sessions of an earlier run, in microseconds" },
})
local proto = protocol.proto
proto.prefs.ports = Pref.range("UDP ports", "",
    "Ports in the list of servers. Without a port, servers are recognized by their messages", 0xffff)

-- The servers of this capture.
local servers = ringd.endpoints()
-- Parts of messages by sender, receiver and content. Each message has its pieces, and the frame of the last piece.
local pieces = {}

function proto.init()
    servers.clear()
    pieces = {}
end

-- Reads a token. Returns its name as text, and the length of its data.
local function read_token(reader)
    local name, data = values.text(reader, "name"), values.bytes(reader, "data")
    return ringd.printable(name), data:len()
end

local function describe_token(name, len)
    return len > 0 and ("%s, %d bytes of data"):format(name, len) or name
end

local function read_state_of_server(reader)
    return (values.choice(reader, "sstate", SERVER_STATES, "sstates"))
end

local function read_client(reader)
    local id = values.int(reader, "id", "clients.id")
    values.text(reader, "address", "clients.address")
    return id
end

local function read_holding(reader)
    return (read_token(reader))
end

local function read_assignment(reader)
    local name = read_token(reader)
    local _, access = values.choice(reader, "access", HOLDER_ACCESSES)
    local count, at = values.length(reader, "holders")
    local expected = access == EXCLUSIVE and 1 or access == SHARED and math.max(count, 1) or 0
    if count ~= expected then ringd.refuse("holders", at, ringd.WRONG_LENGTH, count, expected) end
    for _ = 1, count do values.int(reader, "id", "holders") end
    return name
end

local function read_servers(reader)
    return table.concat(values.array(reader, "sstates", read_state_of_server), " ")
end

-- Each function returns the text for the column Info. LOGIN and PART also return their values.
local BODIES = {}

function BODIES.LOGIN(reader)
    local port = ringd.printable(values.text(reader, "p"))
    return "port " .. port, { port = tonumber(port:match("^:(%d+)$")) }
end

function BODIES.CONFIG(reader)
    local leader = values.long(reader, "leader")
    return ("configuration %s, %s"):format(leader, read_servers(reader))
end

function BODIES.CATALOG(reader)
    return "tokens " .. table.concat(values.array(reader, "holdings", read_holding), " ")
end

function BODIES.ALIVE()
    return ""
end

BODIES.LOGOUT = BODIES.ALIVE

function BODIES.REQUEST(reader)
    local msgnum, name = values.long(reader, "msgnum"), read_token(reader)
    return ("%s %s, msgnum %s"):format(name, values.choice(reader, "access", ACCESSES), msgnum)
end

function BODIES.GRANT(reader)
    local msgnum = values.long(reader, "msgnum")
    return ("%s, msgnum %s"):format(describe_token(read_token(reader)), msgnum)
end

function BODIES.REVOKE(reader)
    return ringd.printable(values.text(reader, "name"))
end

function BODIES.RETURN(reader)
    local msgnum, token = values.long(reader, "msgnum"), describe_token(read_token(reader))
    return ("%s, %s, msgnum %s"):format(token, values.choice(reader, "flags", FLAGS), msgnum)
end

function BODIES.CONFIRM(reader)
    return ("msgnum %s"):format(values.long(reader, "msgnum"))
end

function BODIES.STATE(reader)
    local seq = values.seq(reader)
    values.long(reader, "leader")
    local states = read_servers(reader)
    return ("%s, %s, %d sessions"):format(seq, states, #values.array(reader, "clients", read_client))
end

function BODIES.HEARTBEAT(reader)
    local seq = values.seq(reader)
    return ("%s, %s"):format(seq, values.choice(reader, "sstate", SERVER_STATES))
end

function BODIES.ELECT(reader)
    local seq, vote = values.seq(reader), values.int(reader, "leader", "elect.leader")
    return ("%s, votes for %s"):format(seq, vote < 0 and "no server" or "server " .. ("%d"):format(vote))
end

function BODIES.TRANSFER(reader)
    local msgnum, part, parts = values.long(reader, "msgnum"), values.part(reader)
    local names = table.concat(values.array(reader, "assignments", read_assignment), " ")
    return ("msgnum %s, part %d of %d, tokens %s"):format(msgnum, part, parts, names)
end

function BODIES.TRANSFERRED(reader)
    local msgnum = values.long(reader, "msgnum")
    return ("msgnum %s, part %d"):format(msgnum, values.int(reader, "part"))
end

function BODIES.PART(reader)
    local content, part, parts = values.long(reader, "content"), values.part(reader)
    local bytes = values.bytes(reader, "bytes")
    return ("content %s, part %d of %d"):format(content, part, parts),
        { content = tostring(content), part = part, parts = parts, bytes = bytes }
end

function BODIES.PARTED(reader)
    local content, came = values.long(reader, "content"), values.bytes(reader, "came")
    return ("content %s, %s"):format(content, came:len() > 0 and "parts are missing" or "complete")
end

-- Servers keep these bounds of their options, so random bytes rarely look like terms.
local CLIENT_TIMEOUT_MIN, SERVERS_MAX, HEARTBEATS_MIN = 200000, 32, 3
local MAY_HAVE_TERMS = { CONFIG = true, STATE = true, HEARTBEAT = true, ELECT = true }

-- Reads the terms. Returns whether their values are plausible.
local function read_terms(reader, name)
    return reader:subtree("terms", reader:left(), "", function(item)
        local timeout = values.long(reader, "client_timeout", "terms.client_timeout"):tonumber()
        local quorum = values.int(reader, "quorum", "terms.quorum")
        if item then item:set_text(("terms: client_timeout %g s, quorum %d"):format(timeout / 1e6, quorum)) end
        local is_plausible = timeout >= CLIENT_TIMEOUT_MIN and quorum > 0 and quorum <= SERVERS_MAX
        if name == "CONFIG" then return is_plausible end
        local heartbeat = values.long(reader, "heartbeat", "terms.heartbeat"):tonumber()
        local server_timeout = values.long(reader, "server_timeout", "terms.server_timeout"):tonumber()
        values.long(reader, "grace", "terms.grace")
        return is_plausible and heartbeat > 0 and server_timeout >= HEARTBEATS_MIN * heartbeat
    end)
end

-- Reads a datagram. Returns its text, the values of LOGIN and PART, and whether the datagram has plausible terms.
local function read_message(reader)
    local name = values.choice(reader, "type", TYPES)
    local from, to = values.int(reader, "from"), values.int(reader, "to")
    values.int(reader, "ssig")
    local text, found = BODIES[name](reader)
    local has_terms = MAY_HAVE_TERMS[name] and reader:left() > 0 and read_terms(reader, name)
    text = ("%s %d → %d%s%s"):format(name, from, to, text ~= "" and ", " or "", text)
    return text, found or {}, has_terms
end

-- Keeps a piece. Returns the whole message if this frame contains the last piece of the message.
local function join(pinfo, piece)
    local key = table.concat({ tostring(pinfo.src), pinfo.src_port, tostring(pinfo.dst), pinfo.dst_port, piece.content,
        piece.parts }, " ")
    local message = pieces[key] or { count = 0, frame = nil, bytes = {} }
    pieces[key] = message
    if not message.bytes[piece.part] then
        message.bytes[piece.part] = piece.bytes:bytes()
        message.count = message.count + 1
        if message.count == piece.parts then message.frame = pinfo.number end
    end
    if message.frame ~= pinfo.number then return nil end
    local whole = ByteArray.new()
    for part = 0, piece.parts - 1 do whole:append(message.bytes[part]) end
    return whole
end

function proto.dissector(tvb, pinfo, tree)
    local piece
    local len = ringd.show_datagram(protocol, tvb, pinfo, tree, function(reader)
        local text, found = read_message(reader)
        if found.bytes and found.bytes:len() > 0 then piece = found end
        return text
    end)
    local whole = piece and join(pinfo, piece)
    if whole then
        ringd.show_datagram(protocol, whole:tvb("Joined parts"), pinfo, tree, function(reader)
            return (read_message(reader)) .. " (joined parts)"
        end)
    end
    return len
end

-- A client announces its port, and servers announce their terms. Random bytes have neither.
local function reveal_server(tvb, pinfo)
    local reader, _, found, has_terms = ringd.accepts(protocol, tvb, read_message)
    if not reader or reader:left() > 0 then return end
    if found.port == pinfo.src_port then
        servers.add(pinfo.dst, pinfo.dst_port)
    elseif has_terms then
        servers.add(pinfo.src, pinfo.src_port)
    end
end

proto:register_heuristic("udp", function(tvb, pinfo, tree)
    if not servers.has(pinfo) then reveal_server(tvb, pinfo) end
    if not servers.has(pinfo) then return false end
    proto.dissector(tvb, pinfo, tree)
    return true
end)
ringd.register(protocol, { ports = { "udp.port" } })
