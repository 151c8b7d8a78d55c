-- The epoch grows beyond all that any gateway has seen of the key, so that what they know from before is void.
local field, floor, retention = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local known, epoch = clean(0), floor
local lost = false

local function take(text)
  local value = parse(text)
  lost = lost or value.unreadable
  join(known, value, known.marks + value.marks)
  epoch = math.max(epoch, value.epoch + 1)
end

local stored = redis.pcall('HGETALL', KEYS[1])
if stored.err then
  known, lost = unreadable(), true
  redis.call('DEL', KEYS[1])
elseif field == '' then
  for at = 2, #stored, 2 do take(stored[at]) end
  redis.call('DEL', KEYS[1])
else
  for at = 1, #stored, 2 do
    if stored[at] == field then take(stored[at + 1]) end
    if stored[at] == 'p' then epoch = math.max(epoch, parse(stored[at + 1]).epoch + 1) end
  end
end

local fresh = redis.call('EXISTS', KEYS[1]) == 0
redis.call('HSET', KEYS[1], field == '' and 'p' or field, pack(clean(epoch)))
if retention > 0 then redis.call('PEXPIRE', KEYS[1], retention, fresh and 'NX' or 'GT') end
if lost then return '?' end
return pack(known)
