-- Reads the fields of a message in order, and stops at the first field that a receiver refuses. The reasons are those
-- of the codec of ringd, word for word. Wireshark also loads this file by itself, which has no effect.

local ringd = {}

-- The reason why a receiver refuses a message. Any other error is a fault of these scripts.
local Refusal = {}
-- The capture contains only the beginning of the packet, so the reason is not known.
local Cut = {}

function ringd.refuse(field, offset, problem, ...)
    error(setmetatable({ text = ("%s at offset %d: "):format(field, offset) .. problem:format(...),
        truncated = problem == ringd.TRUNCATED }, Refusal), 0)
end

ringd.TRUNCATED = "needs %s bytes, has %s"
ringd.UNKNOWN = "unknown value %s"
ringd.RESERVED = "reserved, but %s"
ringd.TOO_LARGE = "%s is above %s"
ringd.ILLEGAL = "%s is not a legal value"
ringd.WRONG_LENGTH = "%s instead of %s"
ringd.TRAILING = "%d bytes after the message"

-- Defines a protocol. Each row of `fields` is a filter without the protocol's name, a type, a meaning, and optionally
-- the names of values or the base of numbers, and a mask. In the tree, a field has the last part of its filter as its
-- name, because this is the field's name in the documents. `notes` has the texts and the severities of expert infos.
function ringd.protocol(name, description, fields, notes)
    local proto = Proto(name, description)
    local filter = proto.name:lower()
    local by_name, list = {}, {}
    for _, row in ipairs(fields) do
        local short, kind, meaning, display, mask = row[1], row[2], row[3], row[4], row[5]
        local values = type(display) == "table" and display or nil
        local base = type(display) == "number" and display or nil
        local width = kind == ftypes.BOOLEAN and 8 or nil
        by_name[short] = ProtoField.new(short:match("[^.]+$"), filter .. "." .. short, kind, values, base or width, mask, meaning)
        list[#list + 1] = by_name[short]
    end
    proto.fields = list
    local experts = {
        malformed = ProtoExpert.new(filter .. ".malformed", "Receivers refuse this message",
            expert.group.MALFORMED, expert.severity.ERROR),
        cut = ProtoExpert.new(filter .. ".cut", "The capture contains only the beginning of this message",
            expert.group.UNDECODED, expert.severity.NOTE),
    }
    for short, note in pairs(notes or {}) do
        experts[short] = ProtoExpert.new(filter .. "." .. short, note[1], expert.group.COMMENTS_GROUP, expert.severity[note[2]])
    end
    proto.experts = experts
    return { proto = proto, fields = by_name, experts = experts }
end

local Reader = {}
Reader.__index = Reader

-- `begin` is the place of the message in `tvb`. `base` is the number of bytes of the message before this place.
function ringd.reader(protocol, tvb, begin, base, tree)
    return setmetatable({ protocol = protocol, tvb = tvb, at = begin, base = base - begin, tree = tree,
        limit = tvb:reported_len() }, Reader)
end

-- Returns the place of the next field in the message.
function Reader:offset()
    return self.at + self.base
end

function Reader:left()
    return self.limit - self.at
end

-- Returns bytes that may be behind the next field, without a check against the length of the message.
function Reader:look(place, len)
    if place + len > self.tvb:captured_len() then error(Cut, 0) end
    return self.tvb(place, len)
end

-- Refuses the message if it ends before the end of the next field.
function Reader:need(field, len)
    if self:left() < len then ringd.refuse(field, self:offset(), ringd.TRUNCATED, len, self:left()) end
end

-- Adds a field to the tree. Fields that are not on the wire have no range.
function Reader:put(filter, range, ...)
    if not self.tree then return nil end
    local field = self.protocol.fields[filter]
    if range then return self.tree:add(field, range, ...) end
    local item = self.tree:add(field, ...)
    item:set_generated()
    return item
end

-- Reads the next `len` bytes. `group` comes before the field's name in the filter.
function Reader:take(field, len, group)
    self:need(field, len)
    local range = self:look(self.at, len)
    self.at = self.at + len
    return range, self:put((group or "") .. field, range)
end

-- Reads a fixed layout: rows of a field's name and its length. Returns the fields' bytes by name.
function Reader:layout(rows, group)
    local ranges = {}
    for _, row in ipairs(rows) do
        ranges[row[1]] = self:take(row[1], row[2], group)
    end
    return ranges
end

-- Runs `read` while its fields belong to a subtree for the next `len` bytes.
function Reader:subtree(filter, len, text, read)
    local parent = self.tree
    local shown = math.max(0, math.min(len, self.tvb:captured_len() - self.at))
    local item = parent and parent:add(self.protocol.fields[filter], self.tvb(self.at, shown), text)
    self.tree = item
    local result = read(item)
    self.tree = parent
    return result
end

-- Runs `read` for a message, and adds an expert info if receivers refuse the message. Returns the result of `read`. If
-- receivers refuse the message, returns nil and the reason.
function ringd.try(protocol, tree, read)
    local ok, result = pcall(read)
    if ok then return result end
    if getmetatable(result) == Refusal then
        if tree then tree:add_proto_expert_info(protocol.experts.malformed, result.text) end
        return nil, result
    end
    if result == Cut then
        if tree then tree:add_proto_expert_info(protocol.experts.cut) end
        return nil, { text = "cut off in the capture", cut = true }
    end
    error(result, 0)
end

-- Shows the message at `begin`, and its text in the column Info. `read` returns the text. Returns the reader, and the
-- reason if there is one.
function ringd.show(protocol, tvb, begin, base, pinfo, tree, read)
    local root = tree:add(protocol.proto, tvb(begin))
    local reader = ringd.reader(protocol, tvb, begin, base, root)
    local text, problem = ringd.try(protocol, root, function() return read(reader, root) end)
    if problem then text = (problem.cut and "" or "Malformed: ") .. problem.text end
    root:append_text(", " .. text)
    return text, reader, problem
end

-- The values for `desegment_len`: another segment, and the whole rest of the stream.
local ONE_MORE_SEGMENT, UNTIL_FIN = DESEGMENT_ONE_MORE_SEGMENT, 0x0ffffffe
local fin = Field.new("tcp.flags.fin")

-- Shows the messages at the front of a stream. If the last message is not complete, Wireshark calls the dissector again
-- with more bytes. `read` returns the text for the column Info, and sets `ends_with_stream` of the reader.
function ringd.show_stream(protocol, tvb, pinfo, tree, read)
    local place, texts, ended = 0, {}, false
    for _, info in ipairs({ fin() }) do ended = info.value end
    while place < tvb:reported_len() do
        -- The first pass only looks whether the message is complete.
        local reader = ringd.reader(protocol, tvb, place, 0)
        local ok, result = pcall(read, reader)
        local is_complete = ok and not reader.ends_with_stream
        local is_truncated = not ok and getmetatable(result) == Refusal and result.truncated
        if not ended and pinfo.can_desegment > 0 and not is_complete and (ok or is_truncated) then
            pinfo.desegment_offset = place
            pinfo.desegment_len = reader.ends_with_stream and UNTIL_FIN or ONE_MORE_SEGMENT
            break
        end
        local shown, after, problem = ringd.show(protocol, tvb, place, 0, pinfo, tree, read)
        texts[#texts + 1] = shown
        if problem then break end
        place = after.at
    end
    if #texts > 0 then
        pinfo.cols.protocol = protocol.proto.name
        pinfo.cols.info = table.concat(texts, "; ")
    end
    return tvb:reported_len()
end

-- Shows a datagram, which contains one message. `read` returns the text for the column Info.
function ringd.show_datagram(protocol, tvb, pinfo, tree, read)
    local text = ringd.show(protocol, tvb, 0, 0, pinfo, tree, function(reader, root)
        local text = read(reader, root)
        if reader:left() > 0 then ringd.refuse("datagram", reader:offset(), ringd.TRAILING, reader:left()) end
        return text
    end)
    pinfo.cols.protocol = protocol.proto.name
    pinfo.cols.info = text
    return tvb:reported_len()
end

-- If `read` accepts the front of a packet, returns the reader and the results of `read`.
function ringd.accepts(protocol, tvb, read)
    local reader = ringd.reader(protocol, tvb, 0, 0)
    local results = { pcall(read, reader) }
    if results[1] then return reader, table.unpack(results, 2, 4) end
    if getmetatable(results[2]) ~= Refusal and results[2] ~= Cut then error(results[2], 0) end
    return nil
end

-- Endpoints of a protocol without a fixed port, as far as the capture has revealed them.
function ringd.endpoints()
    local known = {}
    local function key(address, port)
        return tostring(address) .. " " .. port
    end
    return {
        add = function(address, port) known[key(address, port)] = true end,
        has = function(pinfo)
            return known[key(pinfo.src, pinfo.src_port)] or known[key(pinfo.dst, pinfo.dst_port)] or false
        end,
        clear = function() known = {} end,
    }
end

-- Registers the protocol for the numbers of a preference, whenever the user changes the preference.
function ringd.register(protocol, preferences)
    local proto, used = protocol.proto, {}
    local function update()
        for name, tables in pairs(preferences) do
            local numbers = proto.prefs[name]
            for _, table_name in ipairs(tables) do
                local dissectors = DissectorTable.get(table_name)
                local before = used[table_name]
                if before and before ~= "" then dissectors:remove(before, proto) end
                if numbers ~= "" then dissectors:add(numbers, proto) end
                used[table_name] = numbers
            end
        end
    end
    proto.prefs_changed = update
    update()
end

-- Returns a text for people: a name if all bytes are printable ASCII, otherwise the bytes.
function ringd.printable(range)
    local raw = range:len() > 0 and range:raw() or ""
    if raw:match("^[ -~]*$") then return raw end
    return range:bytes():tohex(true)
end

-- Whether these bytes are valid UTF-8.
function ringd.is_utf8(raw)
    local at = 1
    while at <= #raw do
        local first, second = raw:byte(at, at + 1)
        local more, low, high = 0, 0x80, 0xbf
        if first >= 0xc2 and first <= 0xdf then more = 1
        elseif first >= 0xe0 and first <= 0xef then
            more, low, high = 2, first == 0xe0 and 0xa0 or 0x80, first == 0xed and 0x9f or 0xbf
        elseif first >= 0xf0 and first <= 0xf4 then
            more, low, high = 3, first == 0xf0 and 0x90 or 0x80, first == 0xf4 and 0x8f or 0xbf
        elseif first >= 0x80 then return false end
        if more > 0 and (not second or second < low or second > high) then return false end
        for place = at + 2, at + more do
            local byte = raw:byte(place)
            if not byte or byte < 0x80 or byte > 0xbf then return false end
        end
        at = at + 1 + more
    end
    return true
end

return ringd
