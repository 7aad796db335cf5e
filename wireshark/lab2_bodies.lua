-- The messages of Lab2: one function per kind. Each function returns the text for the column Info. Wireshark also loads
-- this file by itself, which has no effect.

return function(ringd, format, parts, refused)
    local LIMITS = { dataLen = 1024, members = 66, forgotten = 64, stampCount = 19, lockCount = 9 }
    local STAMPS = { { "serial", 4 }, { "purpose", 1 }, { "stampsHash", 8 }, { "stampCount", 2 } }
    local STAMP = {
        { "name", 32 }, { "progress", 8 }, { "run", 4 }, { "runnerMAC", 6 }, { "outcome", 1 }, { "period", 8 },
        { "age", 8 }, { "before", 8 },
    }
    local LOCKS = {
        { "serial", 8 }, { "locksPurpose", 1 }, { "grade", 1 }, { "locksHash", 8 }, { "from", 8 }, { "to", 8 },
        { "lockCount", 2 },
    }
    local RECORD = {
        { "lockName", 64 }, { "memberMAC", 6 }, { "session", 8 }, { "mode", 1 }, { "grade", 1 }, { "state", 1 },
        { "ticket", 8 },
    }
    local RECORD_END = { { "flag", 8 }, { "age", 8 }, { "program", 24 } }
    local MEMBER_LEN, STAMP_LEN, RECORD_LEN, LOCK_SUMS = 22, 75, 147, 64
    local COUNT_LEN, PING_TOKEN_LEN = 2, 30
    local PROMISE, PAUSED = 1, 2

    local function read_offer(reader)
        local token = parts.read_token(reader)
        reader:layout(parts.DIGEST)
        local length = reader:take("dataLen", COUNT_LEN)
        parts.check_progress(token.progress, token.at)
        local len = parts.check_limit("dataLen", length, reader:offset() - COUNT_LEN, LIMITS.dataLen)
        local text = "token " .. token.text
        if len == 0 then return text end
        reader:take("data", len)
        return ("%s, %d bytes of data"):format(text, len)
    end

    local function read_heartbeat(reader)
        local text = read_offer(reader)
        if not parts.has_trailer(reader, "RGD1", 8) then return text end
        reader:take("mark", 4)
        return ("%s, beat %d"):format(text, reader:take("beat", 4):uint())
    end

    -- A receiver ignores an illegal trailer as padding.
    local function has_ping_trailer(reader)
        if not parts.has_trailer(reader, "RGD1", 35) then return false end
        local flags = reader:look(reader.at + 4, 1):uint()
        local token = reader:look(reader.at + 5, PING_TOKEN_LEN):raw()
        return flags == PROMISE or flags == PROMISE + PAUSED or flags == PAUSED and token == ("\0"):rep(PING_TOKEN_LEN)
    end

    local function read_ping(reader)
        reader:layout(parts.DIGEST)
        reader:take("ip", 16)
        if not has_ping_trailer(reader) then return "" end
        reader:take("mark", 4)
        local flags = reader:take("flags", 1)
        reader:put("flags.promise", flags)
        reader:put("flags.paused", flags)
        if flags:uint() == PAUSED then
            reader.at = reader.at + PING_TOKEN_LEN
            return "paused"
        end
        local token = parts.read_token(reader, "promise.")
        parts.check_progress(token.progress, token.at)
        local beat = reader:take("beat", 4, "promise.")
        local lasts = parts.milliseconds(reader:take("lasts", 8, "promise."))
        local paused = flags:uint() == PROMISE and "" or ", paused"
        return ("confirms token %s, beat %d, for %s%s"):format(token.text, beat:uint(), lasts, paused)
    end

    local function read_recent(reader)
        local token = parts.read_token(reader)
        local holder = reader:take("holder", parts.MAC_LEN)
        parts.check_progress(token.progress, token.at)
        return ("token %s, held by %s"):format(token.text, parts.member_name(holder))
    end

    local function read_candidate(reader)
        local token = parts.read_token(reader)
        parts.check_progress(token.progress, token.at)
        return "candidate " .. token.text
    end

    -- Reads the count of a list and the list. Refuses the message before the first entry if the list is too long.
    local function read_list(reader, length, count_field, field, len, max, read)
        local count = parts.check_limit(count_field, length, reader:offset() - COUNT_LEN, max)
        reader:need(field, count * len)
        local texts = {}
        for place = 1, count do texts[place] = read(reader) end
        return texts
    end

    local function read_member(reader)
        local at, mac = reader:offset(), reader:look(reader.at, parts.MAC_LEN)
        reader:subtree("member", MEMBER_LEN, parts.member_name(mac), function()
            reader:take("mac", parts.MAC_LEN, "member.")
            reader:take("ip", 16, "member.")
        end)
        parts.check_unicast("mac", mac, at)
    end

    local function read_members(reader)
        local size = reader:layout(parts.DIGEST).ringSize:uint()
        local length = reader:take("count", COUNT_LEN)
        read_list(reader, length, "count", "members", MEMBER_LEN, LIMITS.members, read_member)
        return ("%d of %d members"):format(length:uint(), size)
    end

    local function read_forgotten(reader)
        local at, mac = reader:offset(), reader:take("mac", parts.MAC_LEN, "member.")
        parts.check_unicast("mac", mac, at)
        return parts.member_name(mac)
    end

    local function read_forget(reader)
        local length = reader:take("count", COUNT_LEN)
        local names = read_list(reader, length, "count", "members", parts.MAC_LEN, LIMITS.forgotten, read_forgotten)
        return table.concat(names, ", ")
    end

    local function read_stamp(reader)
        local at, name = reader:offset(), parts.before_zeros(reader:look(reader.at, 32))
        local stamp = reader:subtree("stamp", STAMP_LEN, name, function() return reader:layout(STAMP, "stamp.") end)
        if not parts.is_name(stamp.name) then ringd.refuse("name", at, ringd.ILLEGAL, stamp.name(0, 1):uint()) end
        parts.check_progress(stamp.progress, at + 32)
        parts.check_unicast("runnerMAC", stamp.runnerMAC, at + 44)
        return name .. " " .. parts.check_choice("outcome", stamp.outcome, at + 50, format.outcomes)
    end

    local function read_stamps(reader)
        local token = parts.read_token(reader)
        local head = reader:layout(STAMPS, "stamps.")
        parts.check_progress(token.progress, token.at)
        local purpose = parts.check_choice("purpose", head.purpose, token.at + 22, format.purposes)
        local texts = read_list(reader, head.stampCount, "stampCount", "stamps", STAMP_LEN, LIMITS.stampCount, read_stamp)
        table.insert(texts, 1, ("%s, serial %d, token %s"):format(purpose, head.serial:uint(), token.text))
        return table.concat(texts, "; ")
    end

    local function read_record(reader)
        local at, name = reader:offset(), parts.before_zeros(reader:look(reader.at, 64))
        local record, token, rest, item
        reader:subtree("lock", RECORD_LEN, name, function(subtree)
            item = subtree
            record = reader:layout(RECORD, "lock.")
            token = parts.read_token(reader, "lock.")
            rest = reader:layout(RECORD_END, "lock.")
        end)
        if not parts.is_name(record.lockName) then
            ringd.refuse("lockName", at, ringd.ILLEGAL, record.lockName(0, 1):uint())
        end
        parts.check_unicast("memberMAC", record.memberMAC, at + 64)
        local mode = parts.check_choice("mode", record.mode, at + 78, format.modes)
        parts.check_choice("grade", record.grade, at + 79, format.grades)
        local state = parts.check_choice("state", record.state, at + 80, format.states)
        parts.check_progress(token.progress, token.at)
        local program = rest.program:raw()
        if not program:match("^[^\0]*\0*$") or not ringd.is_utf8(parts.before_zeros(rest.program)) then
            ringd.refuse("program", at + 123, ringd.ILLEGAL, rest.program(0, 1):uint())
        end
        if state == "refused" and item then item:add_proto_expert_info(refused) end
        local member = parts.member_name(record.memberMAC)
        return ("%s %s by %s, %s, fencing token %s"):format(name, state, member, mode, token.text)
    end

    local function read_locks(reader)
        local token = parts.read_token(reader)
        local head = reader:layout(LOCKS, "locks.")
        parts.check_progress(token.progress, token.at)
        local purpose = parts.check_choice("locksPurpose", head.locksPurpose, token.at + 26, format.locks_purposes)
        parts.check_choice("grade", head.grade, token.at + 27, format.grades)
        local texts = read_list(reader, head.lockCount, "lockCount", "locks", RECORD_LEN, LIMITS.lockCount, read_record)
        table.insert(texts, 1, ("%s, serial %s, token %s"):format(purpose, head.serial:uint64(), token.text))
        return table.concat(texts, "; ")
    end

    local function read_locks_question(reader)
        local at = reader:offset()
        local head = reader:layout({ { "grade", 1 }, { "from", 8 } }, "locks.")
        local grade = parts.check_choice("grade", head.grade, at, format.grades)
        reader:need("sums", LOCK_SUMS * 8)
        for _ = 1, LOCK_SUMS do reader:take("sums", 8, "locks.") end
        return "table of grade " .. grade
    end

    local function read_nothing()
        return ""
    end

    return {
        read_offer, read_heartbeat, read_ping, read_recent, read_nothing, read_candidate, read_members, read_nothing,
        read_nothing, read_stamps, read_forget, read_locks, read_locks_question,
    }
end
