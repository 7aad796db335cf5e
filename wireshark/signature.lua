-- The signature at the end of a message (docs/reference/trust.md). Wireshark also loads this file by itself, which has
-- no effect.

local FIELDS = {
    { "boot", 8 }, { "counter", 8 }, { "time", 4 }, { "mark", 3 }, { "kind", 1 }, { "keyId", 4 }, { "mac", 16 },
}
local LEN, MARK_AT, KIND_AT, NONCE_LEN = 44, 20, 23, 16
local KINDS = { [0] = "message", "challenge", "answer" }

local U8, U32, U64, BYTES, TEXT = ftypes.UINT8, ftypes.UINT32, ftypes.UINT64, ftypes.BYTES, ftypes.STRING

local signature = {}

signature.rows = {
    { "nonce", BYTES, "Random number of a challenge" },
    { "signature", TEXT, "Signature of the message" },
    { "signature.boot", U64, "Random number of the author's process", base.HEX },
    { "signature.counter", U64, "Number of the message of this process" },
    { "signature.time", U32, "Milliseconds of the author's clock" },
    { "signature.mark", TEXT, "Mark of a signature" },
    { "signature.kind", U8, "Kind of the signed message", KINDS },
    { "signature.keyId", U32, "Id of the key" },
    { "signature.mac", BYTES, "MAC of the bytes before the mark" },
}

-- Separates the signature from the message: the reader then ends before the signature. Returns the kind of the signed
-- message, or nil if there is no signature.
function signature.separate(reader)
    local place = reader.limit - LEN
    if place < reader.at or reader.limit > reader.tvb:captured_len() then return nil end
    if reader:look(place + MARK_AT, 3):raw() ~= "RKT" then return nil end
    reader.limit = place
    return KINDS[reader:look(place + KIND_AT, 1):uint()]
end

-- Reads the random number of a challenge or an answer.
function signature.read_nonce(reader)
    reader:take("nonce", NONCE_LEN)
end

-- Reads a signature that was separated. Returns a text for the column Info.
function signature.read(reader)
    reader.at, reader.limit = reader.limit, reader.limit + LEN
    local id = reader:look(reader.at + KIND_AT + 1, 4):uint()
    reader:subtree("signature", LEN, "signed with key " .. id, function()
        reader:layout(FIELDS, "signature.")
    end)
    return ", key " .. id
end

return signature
