-- The integers and strings of FTN, whose lengths vary. Wireshark also loads this file by itself, which has no effect.

return function(ringd)
    local values = {}
    local LONG_FORM = 0x80
    local INT_BITS, LONG_BITS = 32, 64

    -- Lua 5.4 would show a float with a fraction.
    local function to_number(value)
        return math.floor(value:tonumber())
    end

    -- Returns a number of the long form. `range` has 2 to 9 bytes, and the number begins in the last 4 bits of its first
    -- byte. A number of 68 bits may not fit.
    local function long_form(range)
        local digits = range:bytes():tohex(true):sub(2)
        local sign = tonumber(digits:sub(1, 1), 16) >= 8 and "f" or "0"
        local fits = true
        if #digits == 17 then
            fits = digits:sub(1, 1) == sign and (tonumber(digits:sub(2, 2), 16) >= 8) == (sign == "f")
            digits = digits:sub(2)
        end
        return Int64.fromhex(sign:rep(16 - #digits) .. digits), fits
    end

    -- Reads an integer. Returns its value as an Int64, its bytes and its offset.
    local function integer(reader, field, bits)
        local at = reader:offset()
        reader:need(field, 1)
        local first, len = reader:look(reader.at, 1):uint(), 1
        local value, fits = Int64.new(first < 0x40 and first or first - 0x80), true
        if first >= LONG_FORM then
            len = math.floor(first / 16) % 8 + 2
            reader:need(field, len)
            value, fits = long_form(reader:look(reader.at, len))
        end
        local number = value:tonumber()
        if bits == INT_BITS then fits = fits and number >= -0x80000000 and number <= 0x7fffffff end
        if not fits then ringd.refuse(field, at, "does not fit %d bits", bits) end
        local range = reader:look(reader.at, len)
        reader.at = reader.at + len
        return value, range, at
    end

    -- Reads an int as a number, and adds it to the tree. `filter` is the field's name, if it is not `field`.
    function values.int(reader, field, filter)
        local value, range, at = integer(reader, field, INT_BITS)
        local number = to_number(value)
        reader:put(filter or field, range, number)
        return number, at, range
    end

    -- Reads a long as an Int64, and adds it to the tree.
    function values.long(reader, field, filter)
        local value, range, at = integer(reader, field, LONG_BITS)
        reader:put(filter or field, range, value)
        return value, at
    end

    -- Reads an int that must have a name. Returns the name, and the int.
    function values.choice(reader, field, names, filter)
        local number, at, range = values.int(reader, field, filter)
        if not names[number] then ringd.refuse(field, at, ringd.ILLEGAL, ("%d"):format(number)) end
        return names[number], number, range
    end

    -- Reads the length of a string or the number of entries of an array.
    function values.length(reader, field)
        local value, _, at = integer(reader, field, INT_BITS)
        local number = to_number(value)
        if number < 0 then ringd.refuse(field, at, ringd.ILLEGAL, ("%d"):format(number)) end
        return number, at
    end

    local function string(reader, field)
        local len = values.length(reader, field)
        reader:need(field, len)
        local range = reader:look(reader.at, len)
        reader.at = reader.at + len
        return range
    end

    -- Reads a string that is a text for people.
    function values.text(reader, field, filter)
        local range = string(reader, field)
        reader:put(filter or field, range)
        return range
    end

    -- Reads a string of any bytes. Wireshark would show an empty one as missing.
    function values.bytes(reader, field)
        local range = string(reader, field)
        if range:len() > 0 then reader:put(field, range) end
        return range
    end

    -- Reads an array. Returns a list of the results of `read`.
    function values.array(reader, field, read)
        local count, list = values.length(reader, field), {}
        for place = 1, count do list[place] = read(reader) end
        return list
    end

    -- Reads a long that is neither negative nor above `max`.
    local function natural(reader, field, max)
        local value, at = values.long(reader, field)
        local number = value:tonumber()
        if number < 0 or max and number > max then ringd.refuse(field, at, ringd.ILLEGAL, tostring(value)) end
        return value
    end

    -- Reads a seq. Returns its text.
    function values.seq(reader)
        local configuration = natural(reader, "configuration")
        local round = natural(reader, "round", 0xffffffff)
        return ("configuration %s, round %s"):format(configuration, round)
    end

    -- Reads the number of a part and the number of parts.
    function values.part(reader)
        local part, at = values.int(reader, "part")
        local parts = values.int(reader, "parts")
        if part < 0 or part >= parts then ringd.refuse("part", at, ringd.ILLEGAL, ("%d"):format(part)) end
        return part, parts
    end

    return values
end
