local mark = {facts = tonumber(ARGV[1]), first = tonumber(ARGV[2]), last = tonumber(ARGV[2]), coarse = 0,
  cause = ARGV[4]}
local since, retention = tonumber(ARGV[3]), tonumber(ARGV[5])
local field, limit, assumed = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

local stored = redis.pcall('HMGET', KEYS[1], 'p', field)
local broken = stored.err ~= nil

-- What is stored, with what the gateway knows of it unless it was cleared since, and with what it still owes.
local function load(text, known, owed, floor)
  local value = parse(text)
  if broken then value = unreadable() end
  if value.unreadable then return value end
  value.epoch = math.max(value.epoch, floor)
  known, owed = parse(known ~= '' and known), parse(owed ~= '' and owed)
  if known.epoch >= value.epoch then
    value.epoch = known.epoch
    join(value, known, math.max(value.marks, known.marks))
  end
  join(value, owed, value.marks + owed.marks)
  return value
end

local principal = load(stored[1], ARGV[9], ARGV[11], 0)
local conversation = clean(0)
if field ~= '' then conversation = load(stored[2], ARGV[10], ARGV[12], principal.epoch) end
local before = {pack(principal), pack(conversation)}

local function counted(value)
  return (value.last >= since or value.coarse == 1) and value.facts or 0
end

local facts = bit.bor(counted(principal), counted(conversation), assumed)
local refused = -1
for at = 13, #ARGV do
  local all = tonumber(ARGV[at])
  if bit.band(facts, all) == all then
    refused = at - 13
    break
  end
end

local merged = 0
if refused < 0 and mark.facts ~= 0 and not broken then
  local to = principal
  if field ~= '' then to = conversation end
  if field ~= '' and not stored[2] and redis.call('HLEN', KEYS[1]) > limit then
    merged, to, mark.coarse = 1, principal, 1
  end
  join(to, mark, to.marks + 1)
end

local fresh = retention > 0 and redis.call('EXISTS', KEYS[1]) == 0
local function save(name, value, text)
  if not writes or value.unreadable or (not text and value.facts == 0) then return end
  local packed = pack(value)
  if packed ~= text then redis.call('HSET', KEYS[1], name, packed) end
end
save('p', principal, stored[1])
if field ~= '' then save(field, conversation, stored[2]) end
-- GT takes a key without expiry for one that never expires: right for an old key, not for a new one.
if retention > 0 then redis.call('PEXPIRE', KEYS[1], retention, fresh and 'NX' or 'GT') end

return {refused, merged, before[1], before[2], pack(principal), pack(conversation)}
