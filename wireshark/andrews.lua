-- Dissects Andrews, the protocol of the board, in UDP and TCP (docs/board/messages.md).

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
local ringd = dofile(folder .. "reader.lua")

local TYPES = { "JOIN", "SUCCESSOR", "SUCCESSOR_REQUEST", "TOKEN", "TOKEN_ACK", "COORDINATOR_ELECTION" }
local METHODS = { "RING_BASED", "CHANG_ROBERTS", "BULLY" }
local ELECTION_TYPES = { "ELECTION", "COORDINATOR", "OK" }
local U8, U16, U32 = ftypes.UINT8, ftypes.UINT16, ftypes.UINT32
local VERSION, HEADER_LEN, LEN_OFFSET, MAX_PAYLOAD_LEN, MAX_IDS = 1, 12, 8, 65536, 16382
local RING_BASED, BULLY, ELECTION, OK = 1, 3, 1, 3

local protocol = ringd.protocol("Andrews", "Andrews, the protocol of ring-board", {
    { "version", U8, "1" },
    { "type", U8, "Type of the message", TYPES },
    { "reserved", U16, "0, in the header and in an election" },
    { "srcId", U32, "Id of the sender" },
    { "payloadLen", U32, "Length of the payload in bytes" },
    { "successorId", U32, "Id of the new successor" },
    { "sequence", ftypes.UINT64, "Number of hops of the token" },
    { "method", U8, "Method of the election", METHODS },
    { "electionType", U8, "Step of the election", ELECTION_TYPES },
    { "count", U32, "Number of ids" },
    { "ids", U32, "Id of a node that the message passed" },
    { "candidate", U32, "Greatest id of the nodes that the message passed" },
    { "coordinatorId", U32, "Id of the new coordinator" },
})
local proto = protocol.proto
proto.prefs.ports = Pref.range("UDP and TCP ports", "",
    "Ports in the list of nodes (ring-board --file). Without a port, messages are recognized by their header", 0xffff)

local HEADER = { { "version", 1 }, { "type", 1 }, { "reserved", 2 }, { "srcId", 4 }, { "payloadLen", 4 } }
local ELECTION_HEADER = { { "method", 1 }, { "electionType", 1 }, { "reserved", 2 } }

-- A reader of the payload of one frame.
local function payload_reader(reader, len)
    local begin = reader:offset()
    local payload = {}

    function payload.require_end(offset)
        if offset ~= begin + len then
            ringd.refuse("payloadLen", LEN_OFFSET, ringd.WRONG_LENGTH, len, offset - HEADER_LEN)
        end
    end

    function payload.layout(rows)
        local size = 0
        for _, row in ipairs(rows) do size = size + row[2] end
        local offset = reader:offset() + size
        if offset > begin + len then
            ringd.refuse("payloadLen", LEN_OFFSET, ringd.WRONG_LENGTH, len, offset - HEADER_LEN)
        end
        return reader:layout(rows)
    end

    return payload
end

local function read_ids(reader, payload)
    local at = reader:offset()
    local count = payload.layout({ { "count", 4 } }).count:uint()
    if count > MAX_IDS then ringd.refuse("count", at, ringd.TOO_LARGE, count, MAX_IDS) end
    payload.require_end(reader:offset() + count * 4)
    reader:need("ids", count * 4)
    local ids = {}
    for place = 1, count do ids[place] = reader:take("ids", 4):uint() end
    return "ids " .. table.concat(ids, " ")
end

local function read_election(reader, payload)
    local at, header = reader:offset(), payload.layout(ELECTION_HEADER)
    local method, step, reserved = header.method:uint(), header.electionType:uint(), header.reserved:uint()
    if not METHODS[method] then ringd.refuse("method", at, ringd.UNKNOWN, method) end
    if not ELECTION_TYPES[step] or step == OK and method ~= BULLY then
        ringd.refuse("electionType", at + 1, ringd.UNKNOWN, step)
    end
    if reserved ~= 0 then ringd.refuse("reserved", at + 2, ringd.RESERVED, reserved) end
    local text = METHODS[method] .. " " .. ELECTION_TYPES[step]
    if step == OK or step == ELECTION and method == BULLY then return text end
    if step ~= ELECTION then
        return text .. " " .. payload.layout({ { "coordinatorId", 4 } }).coordinatorId:uint()
    end
    if method == RING_BASED then return text .. ", " .. read_ids(reader, payload) end
    return text .. ", candidate " .. payload.layout({ { "candidate", 4 } }).candidate:uint()
end

local function read_successor(_, payload)
    return tostring(payload.layout({ { "successorId", 4 } }).successorId:uint())
end

local function read_sequence(_, payload)
    return "sequence " .. tostring(payload.layout({ { "sequence", 8 } }).sequence:uint64())
end

local function read_nothing()
    return ""
end

local BODIES = { read_nothing, read_successor, read_nothing, read_sequence, read_sequence, read_election }

local function read_frame(reader)
    local at, header = reader:offset(), reader:layout(HEADER)
    local version, kind, reserved = header.version:uint(), header.type:uint(), header.reserved:uint()
    local len = header.payloadLen:uint()
    if version ~= VERSION then ringd.refuse("version", at, ringd.UNKNOWN, version) end
    if not TYPES[kind] then ringd.refuse("type", at + 1, ringd.UNKNOWN, kind) end
    if reserved ~= 0 then ringd.refuse("reserved", at + 2, ringd.RESERVED, reserved) end
    if len > MAX_PAYLOAD_LEN then ringd.refuse("payloadLen", LEN_OFFSET, ringd.TOO_LARGE, len, MAX_PAYLOAD_LEN) end
    local payload = payload_reader(reader, len)
    local text = BODIES[kind](reader, payload)
    payload.require_end(reader:offset())
    return ("%s from node %d%s"):format(TYPES[kind], header.srcId:uint(), text ~= "" and ", " .. text or "")
end

function proto.dissector(tvb, pinfo, tree)
    if pinfo.port_type == 2 then return ringd.show_stream(protocol, tvb, pinfo, tree, read_frame) end
    return ringd.show_datagram(protocol, tvb, pinfo, tree, read_frame)
end

for _, transport in ipairs({ "udp", "tcp" }) do
    proto:register_heuristic(transport, function(tvb, pinfo, tree)
        local reader = ringd.accepts(protocol, tvb, read_frame)
        if not reader or transport == "udp" and reader:left() > 0 then return false end
        pinfo.conversation = proto
        proto.dissector(tvb, pinfo, tree)
        return true
    end)
end
ringd.register(protocol, { ports = { "udp.port", "tcp.port" } })
