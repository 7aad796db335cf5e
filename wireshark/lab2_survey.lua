-- The messages of surveys in Lab2. Each function returns the text for the column Info. Wireshark also loads this file by
-- itself, which has no effect.

return function(ringd, format, parts)
    local LIMITS = { probes = 64, span = 8000, members = 64, holderLen = 64, troublesLen = 700, paddingLen = 1440, rowCount = 48 }
    local SURVEY = { { "serial", 8 }, { "surveyPurpose", 1 }, { "probes", 1 }, { "span", 2 }, { "count", 2 } }
    local REPORT = {
        { "serial", 8 }, { "up", 8 }, { "wall", 8 }, { "lateness", 8 }, { "held", 8 }, { "nodeState", 1 },
        { "nodeGrade", 1 }, { "health", 1 }, { "busy", 1 }, { "requiredGrade", 1 }, { "troubleCount", 1 },
        { "holderLen", 1 }, { "troublesLen", 2 },
    }
    local PROBE = {
        { "surveyorMAC", 6 }, { "serial", 8 }, { "number", 1 }, { "isAnswer", 1 }, { "sentAt", 8 }, { "paddingLen", 2 },
    }
    local MEASURES = {
        { "serial", 8 }, { "lateness", 8 }, { "largeLen", 2 }, { "broadcastsSent", 1 }, { "rows", 1 }, { "rowCount", 2 },
    }
    local ROW = {
        { "peerMAC", 6 }, { "sent", 1 }, { "answered", 1 }, { "arrived", 1 }, { "largeSent", 1 }, { "largeAnswered", 1 },
        { "largeArrived", 1 }, { "broadcastsArrived", 1 }, { "shortest", 4 }, { "mean", 4 }, { "longest", 4 },
        { "jitter", 4 },
    }
    local ROW_LEN, PROBE_NUMBERS, YES_OR_NO = 29, 64, { [0] = "no", "yes" }

    local function read_survey(reader)
        local at = reader:offset()
        local head = reader:layout(SURVEY, "survey.")
        local purpose = parts.check_choice("surveyPurpose", head.surveyPurpose, at + 8, format.survey_purposes)
        parts.check_limit("probes", head.probes, at + 9, LIMITS.probes)
        parts.check_limit("span", head.span, at + 10, LIMITS.span)
        local count = parts.check_limit("count", head.count, at + 12, LIMITS.members)
        reader:need("members", count * parts.MAC_LEN)
        for _ = 1, count do
            local place, mac = reader:offset(), reader:take("mac", parts.MAC_LEN, "member.")
            parts.check_unicast("mac", mac, place)
        end
        return ("%s, serial %s, %d members"):format(purpose, head.serial:uint64(), count)
    end

    -- Reads a text. A legal text is UTF-8.
    local function read_text(reader, field, len, is_legal)
        if len == 0 then return "" end
        local at, range = reader:offset(), reader:take(field, len, "report.")
        local raw = range:raw()
        if not ringd.is_utf8(raw) or not is_legal(raw) then ringd.refuse(field, at, ringd.ILLEGAL, range(0, 1):uint()) end
        return raw
    end

    local function is_lines(raw)
        return not raw:find("[%z\1-\9\11-\31\127]") and not raw:find("\xc2[\x80-\x9f]")
    end

    local function read_report(reader)
        local at = reader:offset()
        local head = reader:layout(REPORT, "report.")
        local state = parts.check_choice("nodeState", head.nodeState, at + 40, format.node_states)
        parts.check_choice("nodeGrade", head.nodeGrade, at + 41, format.grades)
        local health = parts.check_choice("health", head.health, at + 42, format.healths)
        parts.check_choice("busy", head.busy, at + 43, YES_OR_NO)
        parts.check_choice("requiredGrade", head.requiredGrade, at + 44, format.grades)
        local holder_len = parts.check_limit("holderLen", head.holderLen, at + 46, LIMITS.holderLen)
        local troubles_len = parts.check_limit("troublesLen", head.troublesLen, at + 47, LIMITS.troublesLen)
        if head.held:uint64() == parts.NEVER and holder_len > 0 then
            ringd.refuse("holderLen", at + 46, ringd.ILLEGAL, holder_len)
        end
        local holder = read_text(reader, "holderName", holder_len, function() return true end)
        read_text(reader, "troubles", troubles_len, is_lines)
        local text = ("%s, %s, %d troubles"):format(state, health, head.troubleCount:uint())
        return holder == "" and text or text .. ", held by " .. holder
    end

    local function read_probe(reader)
        local at = reader:offset()
        local head = reader:layout(PROBE, "probe.")
        parts.check_unicast("surveyorMAC", head.surveyorMAC, at)
        local number = head.number:uint()
        if number >= PROBE_NUMBERS then ringd.refuse("number", at + 14, ringd.ILLEGAL, number) end
        local answer = parts.check_choice("isAnswer", head.isAnswer, at + 15, YES_OR_NO)
        local len = parts.check_limit("paddingLen", head.paddingLen, at + 24, LIMITS.paddingLen)
        if len > 0 then reader:take("padding", len, "probe.") end
        return ("%s %d, survey %s"):format(answer == "yes" and "answer" or "question", number, head.serial:uint64())
    end

    local function read_row(reader)
        local at, mac = reader:offset(), reader:look(reader.at, parts.MAC_LEN)
        reader:subtree("measure", ROW_LEN, parts.member_name(mac), function() reader:layout(ROW, "measure.") end)
        parts.check_unicast("peerMAC", mac, at)
    end

    local function read_measures(reader)
        local at = reader:offset()
        local head = reader:layout(MEASURES, "measures.")
        local count = parts.check_limit("rowCount", head.rowCount, at + 20, LIMITS.rowCount)
        reader:need("measures", count * ROW_LEN)
        for _ = 1, count do read_row(reader) end
        return ("serial %s, %d of %d rows"):format(head.serial:uint64(), count, head.rows:uint())
    end

    return { read_survey, read_report, read_probe, read_measures }
end
