-- Dissects Jitterbug in UDP and TCP (docs/jitterbug/datagrams.md).

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
local ringd = dofile(folder .. "reader.lua")

local TYPES = { [0] = "TR1", "TR2", "TP1", "TP2", "TP3", "TP4", "TP5", "TP6" }
local U8, U16, U32, I32 = ftypes.UINT8, ftypes.UINT16, ftypes.UINT32, ftypes.INT32
local VERSION, MAX_NODES, IPV6 = 1, 65536, 1

local protocol = ringd.protocol("Jitterbug", "Jitterbug, the protocol of ringd jitterbug", {
    { "version", U8, "1", nil, 0x0f },
    { "type", U8, "Type of the message", TYPES, 0xf0 },
    { "token_id", I32, "Id of the token: positive if the sender leads, otherwise negative" },
    { "node_tcp_port", U16, "TCP port on which the sender listens" },
    { "node_list_hash", I32, "Hash of the leader's list of nodes" },
    { "count", U32, "Number of nodes in the list" },
    { "node", ftypes.STRING, "Node in the leader's list" },
    { "node.meta", U8, "1 if the address is IPv6, 0 if it is IPv4" },
    { "node.address", ftypes.IPv4, "IPv4 address of the node" },
    { "node.address6", ftypes.IPv6, "IPv6 address of the node" },
    { "node.port", U16, "TCP port of the node" },
    { "data", ftypes.BYTES, "Data of the application" },
    { "terms", ftypes.STRING, "Terms of the sender" },
    { "terms.lease", U32, "Lease of the sender in microseconds" },
    { "terms.shortest", U32, "Shortest lease that the sender knows, in microseconds" },
    { "terms.longest", U32, "Longest lease that the sender knows, in microseconds" },
    { "terms.renew", U32, "renew_timeout of the sender in milliseconds" },
    { "terms.pass", U32, "token_pass_timeout of the sender in milliseconds" },
    { "terms.follows", U32, "Random part of the token_id that the sender follows, or 0" },
    { "terms.policy", ftypes.UINT64, "Digest of the sender's computation and of its rule for forks", base.HEX },
    { "terms.flags", U8, "Flags of the terms", base.HEX },
    { "terms.flags.followed", ftypes.BOOLEAN, "Other nodes follow the sender's token", nil, 1 },
    { "terms.flags.asks", ftypes.BOOLEAN, "The sender asks the receiver for a TR1", nil, 2 },
})
local proto = protocol.proto
proto.prefs.udp = Pref.range("UDP ports", "57700", "UDP ports of the nodes (ringd jitterbug --udp-port)", 0xffff)
proto.prefs.tcp = Pref.range("TCP ports", "",
    "TCP ports of the nodes (ringd jitterbug --tcp-port). The ports that a TR1 announces are known", 0xffff)

local TERMS = {
    { "lease", 4 }, { "shortest", 4 }, { "longest", 4 }, { "renew", 4 }, { "pass", 4 }, { "follows", 4 },
    { "policy", 8 }, { "flags", 1 },
}
local TERMS_LEN, FLAGS = 33, 3
-- The listeners that the nodes of this capture have announced.
local listeners = ringd.endpoints()

function proto.init()
    listeners.clear()
end

local function describe_token(id)
    return ("token %d of %s"):format(math.abs(id), id > 0 and "a leader" or "another node")
end

-- Returns the token_id, after the rest of the layout is read.
local function check_token(range, at)
    local id = range:int()
    if id == 0 or id == -0x80000000 then ringd.refuse("token_id", at, ringd.ILLEGAL, id) end
    return describe_token(id)
end

local function read_terms(reader)
    local terms = reader:subtree("terms", TERMS_LEN, "", function(item)
        local terms = reader:layout(TERMS, "terms.")
        reader:put("terms.flags.followed", terms.flags)
        reader:put("terms.flags.asks", terms.flags)
        if item then item:set_text(("terms: lease %d µs"):format(terms.lease:uint())) end
        return terms
    end)
    local flags = terms.flags:uint()
    if flags > FLAGS then ringd.refuse("flags", reader:offset() - 1, ringd.RESERVED, flags) end
    local follows, text = terms.follows:uint(), ""
    if follows > 0 then text = text .. ", follows " .. follows end
    if flags % 2 == 1 then text = text .. ", followed" end
    return flags > 1 and text .. ", asks" or text
end

local function read_last_terms(reader)
    return reader:left() > 0 and read_terms(reader) or ""
end

local function read_tr1(reader)
    local at, body = reader:offset(), reader:layout({ { "token_id", 4 }, { "node_tcp_port", 2 } })
    local text = ("%s, TCP port %d"):format(check_token(body.token_id, at), body.node_tcp_port:uint())
    text = text .. read_last_terms(reader)
    reader.listener = body.node_tcp_port:uint()
    return text
end

local function read_tr2(reader)
    local at = reader:offset()
    return check_token(reader:take("token_id", 4), at) .. read_last_terms(reader)
end

local function read_tp1(reader)
    local at, body = reader:offset(), reader:layout({ { "token_id", 4 }, { "node_list_hash", 4 } })
    return check_token(body.token_id, at) .. (", list %08x"):format(body.node_list_hash:uint())
end

local function read_node(reader)
    local at = reader:offset()
    reader:need("meta", 1)
    local meta = reader:look(reader.at, 1):uint()
    if meta > IPV6 then ringd.refuse("meta", at, ringd.RESERVED, meta) end
    local len, name = 4, "address"
    if meta == IPV6 then len, name = 16, "address6" end
    reader:subtree("node", len + 3, "", function(item)
        reader:take("meta", 1, "node.")
        reader:need("address", len)
        local address = reader:take(name, len, "node.")
        local port = reader:take("port", 2, "node."):uint()
        if not item then return end
        if meta == IPV6 then
            item:set_text(("node: [%s]:%d"):format(address:ipv6(), port))
        else
            item:set_text(("node: %s:%d"):format(address:ipv4(), port))
        end
    end)
end

local function read_tp4(reader)
    local at = reader:offset()
    local count = reader:take("count", 4):uint()
    if count > MAX_NODES then ringd.refuse("count", at, ringd.TOO_LARGE, count, MAX_NODES) end
    for _ = 1, count do read_node(reader) end
    return ("%d nodes"):format(count)
end

local function read_tp5(reader)
    local at = reader:offset()
    local text, len = check_token(reader:take("token_id", 4), at), reader:left()
    if len > 0 then reader:take("data", len) end
    return ("%s, %d bytes of data"):format(text, len)
end

local function read_nothing()
    return ""
end

local BODIES = {
    [0] = read_tr1, read_tr2, read_tp1, read_nothing, read_nothing, read_tp4, read_tp5, read_terms,
}
local LAST_DATAGRAM, ENDS_WITH_STREAM = 1, 6

-- Returns a function that reads a message. `is_stream` is the transport.
local function message(is_stream)
    return function(reader)
        local at = reader:offset()
        reader:need("type", 1)
        local first = reader:look(reader.at, 1):uint()
        local version, number = first % 16, math.floor(first / 16)
        reader:put("version", reader:look(reader.at, 1))
        reader:take("type", 1)
        if version ~= VERSION then ringd.refuse("version", at, ringd.UNKNOWN, version) end
        if not TYPES[number] then ringd.refuse("type", at, ringd.UNKNOWN, number) end
        if is_stream == (number <= LAST_DATAGRAM) then
            ringd.refuse("type", at, "this transport does not carry %d", number)
        end
        reader.ends_with_stream = number == ENDS_WITH_STREAM
        local text = BODIES[number](reader):gsub("^, ", "")
        return TYPES[number] .. (text ~= "" and ", " .. text or "")
    end
end

local read_datagram, read_stream = message(false), message(true)

function proto.dissector(tvb, pinfo, tree)
    if pinfo.port_type == 2 then return ringd.show_stream(protocol, tvb, pinfo, tree, read_stream) end
    return ringd.show_datagram(protocol, tvb, pinfo, tree, function(reader)
        local text = read_datagram(reader)
        if reader.listener then listeners.add(pinfo.src, reader.listener) end
        return text
    end)
end

proto:register_heuristic("tcp", function(tvb, pinfo, tree)
    if not listeners.has(pinfo) then return false end
    pinfo.conversation = proto
    proto.dissector(tvb, pinfo, tree)
    return true
end)
ringd.register(protocol, { udp = { "udp.port" }, tcp = { "tcp.port" } })
