-- Parts and checks that several messages of Lab2 share. Wireshark also loads this file by itself, which has no effect.

return function(ringd)
    local parts = { TOKEN_LEN = 18, MAC_LEN = 6 }
    local PROGRESS_MAX = "9223372036854775807"
    local TOKEN = { { "progress", 8 }, { "authorMAC", 6 }, { "authorTokenNum", 4 } }

    -- The value of a time that is not known.
    parts.NEVER = UInt64.max()
    parts.DIGEST = { { "ringSize", 4 }, { "ringMembersHash", 8 } }
    -- The host names that members have announced in this capture, by address.
    parts.host_names = {}

    function parts.member_name(mac)
        local digits = mac:bytes():tohex(true)
        if digits == ("f"):rep(12) then return "all" end
        return parts.host_names[digits] or tostring(mac:ether())
    end

    -- A capture of all interfaces has no destinations of frames.
    local destination = Field.new("eth.dst")

    function parts.destination(pinfo)
        local found = { destination() }
        local last = found[#found]
        return last and parts.member_name(last.range) or tostring(pinfo.dst)
    end

    function parts.is_unicast(mac)
        return mac:bytes():tohex() ~= ("0"):rep(12) and mac(0, 1):uint() % 2 == 0
    end

    function parts.milliseconds(range)
        local time = range:uint64()
        if time == parts.NEVER then return "an unknown time" end
        return ("%g ms"):format(time:tonumber() / 1e6)
    end

    function parts.is_name(range)
        return range:raw():match("^[!-~]+\0*$") ~= nil
    end

    function parts.before_zeros(range)
        return range:raw():match("^[^\0]*")
    end

    -- Reads a token. The codec checks a token after the whole layout that contains it, so the caller checks it.
    function parts.read_token(reader, group)
        local at, text = reader:offset(), ""
        if reader:left() >= parts.TOKEN_LEN then
            local bytes = reader:look(reader.at, parts.TOKEN_LEN)
            text = ("%s-%s-%d"):format(bytes(0, 8):uint64(), bytes(8, 6):ether(), bytes(14, 4):uint())
        end
        local ranges = reader:subtree((group or "") .. "token", parts.TOKEN_LEN, text, function()
            return reader:layout(TOKEN, group)
        end)
        return { text = text, progress = ranges.progress, at = at }
    end

    function parts.check_progress(progress, at)
        if progress(0, 1):uint() >= 0x80 then
            ringd.refuse("progress", at, ringd.TOO_LARGE, progress:uint64(), PROGRESS_MAX)
        end
    end

    function parts.check_limit(field, range, at, max)
        local value = range:uint()
        if value > max then ringd.refuse(field, at, ringd.TOO_LARGE, value, max) end
        return value
    end

    -- Returns the name of a value.
    function parts.check_choice(field, range, at, names)
        local value = range:uint()
        if not names[value] then ringd.refuse(field, at, ringd.ILLEGAL, value) end
        return names[value]
    end

    function parts.check_unicast(field, mac, at)
        if not parts.is_unicast(mac) then ringd.refuse(field, at, "not the address of a single machine") end
    end

    -- Whether the next bytes are a trailer of this length with this mark.
    function parts.has_trailer(reader, mark, len)
        return reader:left() >= len and reader:look(reader.at, 4):raw() == mark
    end

    return parts
end
