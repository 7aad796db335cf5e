-- The trailers that may follow a message of Lab2. A receiver ignores an illegal trailer as padding. Wireshark also loads
-- this file by itself, which has no effect.

return function(ringd, format, parts, experts)
    local PROFILE = {
        { "flags", 1 }, { "mtu", 2 }, { "constants", 8 }, { "patience", 8 }, { "shortest", 8 }, { "take", 8 },
        { "expect", 4 },
    }
    local CARD = {
        { "major", 2 }, { "minor", 2 }, { "patch", 2 }, { "unheard", 6 }, { "held", 8 }, { "programLen", 1 },
    }
    local STANDING = { { "change", 8 }, { "quorumHash", 8 }, { "othersHash", 8 }, { "settles", 8 } }
    local PAUSE = { { "left", 8 }, { "reasonLen", 1 } }
    local PAUSE_HEAD_LEN, REASON_LEN_MAX = 13, 64
    local PREFERENCE_LEN = 5
    local MARK_LEN, PROFILE_LEN, CARD_LEN, STANDING_LEN, HOST_NAME_HEAD_LEN = 4, 43, 25, 54, 5
    local PROGRAM_LEN_MAX, HOST_NAME_LEN_MAX = 64, 64
    local MAY_HAVE_PROFILE = { [2] = true, [3] = true, [5] = true, [6] = true, [8] = true }
    local MAY_HAVE_STANDING = { true, true, true }

    local function read_profile(reader, root)
        return reader:subtree("profile", PROFILE_LEN, "", function(item)
            reader:take("mark", MARK_LEN)
            local profile = reader:layout(PROFILE, "profile.")
            for _, flag in ipairs({ "deaf", "unreached", "backing" }) do
                reader:put("profile.flags." .. flag, profile.flags)
            end
            local flags = profile.flags:uint()
            if flags % 2 == 1 then root:add_proto_expert_info(experts.deaf) end
            if math.floor(flags / 2) % 2 == 1 then root:add_proto_expert_info(experts.unreached) end
            item:set_text("profile: WAITER_TIMEOUT " .. parts.milliseconds(profile.patience))
            return math.floor(flags / 32)
        end)
    end

    local function has_card(reader)
        if not parts.has_trailer(reader, "RGD3", CARD_LEN) then return false end
        local held, len = reader:look(reader.at + 16, 8), reader:look(reader.at + 24, 1):uint()
        if len > PROGRAM_LEN_MAX or reader:left() < CARD_LEN + len then return false end
        local program = len > 0 and reader:look(reader.at + CARD_LEN, len):raw() or ""
        return ringd.is_utf8(program) and (held:uint64() ~= parts.NEVER or len == 0)
    end

    local function read_card(reader, root)
        local version, len = reader:look(reader.at + MARK_LEN, 6), reader:look(reader.at + 24, 1):uint()
        local text = ("%d.%d.%d"):format(version(0, 2):uint(), version(2, 2):uint(), version(4, 2):uint())
        reader:subtree("card", CARD_LEN + len, text, function()
            reader:take("mark", MARK_LEN)
            local unheard = reader:layout(CARD, "card.").unheard
            if len > 0 then reader:take("program", len, "card.") end
            if unheard:bytes():tohex() ~= ("0"):rep(12) then
                root:add_proto_expert_info(experts.unheard, "The author does not hear " .. parts.member_name(unheard))
            end
        end)
    end

    local function has_standing(reader)
        return parts.has_trailer(reader, "RGD4", STANDING_LEN)
            and reader:look(reader.at + MARK_LEN, 1):uint() < 0x80
    end

    local function read_standing(reader)
        reader:subtree("standing", STANDING_LEN, "", function(item)
            reader:take("mark", MARK_LEN)
            local token = parts.read_token(reader, "standing.")
            local standing = reader:layout(STANDING, "standing.")
            item:set_text(("standing: change %s under %s"):format(standing.change:uint64(), token.text))
        end)
    end

    local function find_host_name(reader)
        if not parts.has_trailer(reader, "RGD5", HOST_NAME_HEAD_LEN) then return nil end
        local len = reader:look(reader.at + MARK_LEN, 1):uint()
        if len < 1 or len > HOST_NAME_LEN_MAX or reader:left() < HOST_NAME_HEAD_LEN + len then return nil end
        return reader:look(reader.at + HOST_NAME_HEAD_LEN, len):raw():match("^[A-Za-z0-9][A-Za-z0-9._-]*$")
    end

    local function read_host_name(reader, author)
        local name = find_host_name(reader)
        if not name then return end
        parts.host_names[author:bytes():tohex(true)] = name
        reader:take("mark", MARK_LEN)
        reader:take("hostNameLen", 1)
        reader:take("hostName", #name)
    end

    local function has_pause(reader)
        if not parts.has_trailer(reader, "RGD6", PAUSE_HEAD_LEN) then return false end
        local len = reader:look(reader.at + 12, 1):uint()
        if len > REASON_LEN_MAX or reader:left() < PAUSE_HEAD_LEN + len then return false end
        local reason = len > 0 and reader:look(reader.at + PAUSE_HEAD_LEN, len):raw() or ""
        return ringd.is_utf8(reason) and not reason:find("%c") and not reason:find("\194[\128-\159]")
    end

    local function read_pause(reader)
        local len = reader:look(reader.at + 12, 1):uint()
        reader:subtree("pause", PAUSE_HEAD_LEN + len, "pause notice", function()
            reader:take("mark", MARK_LEN)
            reader:layout(PAUSE, "pause.")
            if len > 0 then reader:take("reason", len, "pause.") end
        end)
    end

    local function read_preference(reader)
        if not parts.has_trailer(reader, "RGD7", PREFERENCE_LEN) then return end
        if reader:look(reader.at + MARK_LEN, 1):uint() == 0 then return end
        reader:take("mark", MARK_LEN)
        reader:take("preference", 1)
    end

    local function read_padding(reader, root)
        local left = math.min(reader:left(), reader.tvb:captured_len() - reader.at)
        if left <= 0 then return end
        local padding = reader.tvb(reader.at, left)
        reader:put("padding", padding)
        local mark = padding:raw():match("^RGD%d")
        if mark then
            root:add_proto_expert_info(experts.unknown_trailer,
                ("Unknown or illegal trailer %s, which members ignore"):format(mark))
        end
    end

    -- Reads all bytes after a message. Returns a text for the column Info.
    return function(reader, root, kind, author)
        local text = ""
        if MAY_HAVE_PROFILE[kind] and parts.has_trailer(reader, "RGD2", PROFILE_LEN) then
            local backing = format.backings[read_profile(reader, root)]
            if kind == 2 and backing and backing ~= format.backings[0] then text = ", backing " .. backing end
            local is_shown = has_card(reader)
            if is_shown then read_card(reader, root) end
            if MAY_HAVE_STANDING[kind] and has_standing(reader) then read_standing(reader) end
            if is_shown then read_host_name(reader, author) end
            if is_shown and has_pause(reader) then read_pause(reader) end
            read_preference(reader)
        elseif MAY_HAVE_STANDING[kind] and has_standing(reader) then
            read_standing(reader)
        end
        read_padding(reader, root)
        return text
    end
end
