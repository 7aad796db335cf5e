-- Dissects Lab2, the protocol of `ringd`, in raw Ethernet frames (docs/reference/lab2/frames.md).

local folder = debug.getinfo(1, "S").source:match("^@(.*/)")
local ringd = dofile(folder .. "reader.lua")
local format = dofile(folder .. "lab2_fields.lua")
local parts = dofile(folder .. "lab2_parts.lua")(ringd)
local signature = dofile(folder .. "signature.lua")
for _, row in ipairs(signature.rows) do format.rows[#format.rows + 1] = row end

local protocol = ringd.protocol("Lab2", "Lab2, the protocol of ringd", format.rows, {
    unknown_trailer = { "Unknown or illegal trailer, which members ignore", "NOTE" },
    deaf = { "The author hears no frame", "WARN" },
    unreached = { "Broadcasts do not reach the author", "WARN" },
    unheard = { "The author does not hear a member", "NOTE" },
    refused = { "The owner refuses a named lock", "NOTE" },
})
local proto, experts = protocol.proto, protocol.experts
local bodies = dofile(folder .. "lab2_bodies.lua")(ringd, format, parts, experts.refused)
for _, read in ipairs(dofile(folder .. "lab2_survey.lua")(ringd, format, parts)) do bodies[#bodies + 1] = read end
local read_trailers = dofile(folder .. "lab2_trailers.lua")(ringd, format, parts, experts)

local ETHERNET_HEADER_LEN = 14
local HEADER = { { "kind", 1 }, { "reserved", 1 }, { "messageAuthorMAC", 6 } }

proto.prefs.ethertype = Pref.range("EtherTypes", "0x88b5", "EtherTypes of the rings (ringd --ethertype)", 0xffff)

function proto.init()
    parts.host_names = {}
end

-- Reads the head of a frame. Returns the number of its kind and its author.
local function read_head(reader, pinfo)
    local at, head = reader:offset(), reader:layout(HEADER)
    local kind, reserved, author = head.kind:uint(), head.reserved:uint(), head.messageAuthorMAC
    if not format.kinds[kind] then ringd.refuse("kind", at, ringd.UNKNOWN, kind) end
    if reserved ~= 0 then ringd.refuse("reserved", at + 1, ringd.RESERVED, reserved) end
    parts.check_unicast("messageAuthorMAC", author, at + 2)
    if pinfo.dl_src ~= Address.ether(tostring(author:ether())) then
        ringd.refuse("messageAuthorMAC", at + 2, "not the frame's source address")
    end
    return kind, author
end

function proto.dissector(tvb, pinfo, tree)
    local destination = parts.destination(pinfo)
    local text = ringd.show(protocol, tvb, 0, ETHERNET_HEADER_LEN, pinfo, tree, function(reader, root)
        local signed = signature.separate(reader)
        if signed == "challenge" or signed == "answer" then
            signature.read_nonce(reader)
            return ("%s to %s"):format(signed, destination) .. signature.read(reader)
        end
        local kind, author = read_head(reader, pinfo)
        local body = bodies[kind](reader)
        local trailers = read_trailers(reader, root, kind, author)
        if signed then trailers = trailers .. signature.read(reader) end
        local name = ("%s to %s"):format(format.kinds[kind], destination)
        return name .. (body ~= "" and ", " .. body or "") .. trailers
    end)
    pinfo.cols.protocol = proto.name
    pinfo.cols.info = text
    return tvb:reported_len()
end

ringd.register(protocol, { ethertype = { "ethertype" } })
