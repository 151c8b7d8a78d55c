-- A value is "1 FACTS FIRST LAST MARKS COARSE EPOCH CAUSE", with "-" for no cause or "=" and the cause.
local MAX = 9007199254740991

local function clean(epoch)
  return {facts = 0, first = 0, last = 0, marks = 0, coarse = 0, epoch = epoch, cause = '-'}
end

local function unreadable()
  return {facts = 65535, first = 0, last = 0, marks = 0, coarse = 1, epoch = 0, cause = '-', unreadable = true}
end

local function parse(text)
  if not text then return clean(0) end
  local part = {string.match(text, '^1 (%d+) (%d+) (%d+) (%d+) ([01]) (%d+) ([-=].*)$')}
  for at = 1, 6 do
    part[at] = tonumber(part[at])
    if not part[at] or part[at] > MAX then return unreadable() end
  end
  if part[1] > 65535 or (string.sub(part[7], 1, 1) == '-' and part[7] ~= '-') then return unreadable() end
  return {facts = part[1], first = part[2], last = part[3], marks = part[4], coarse = part[5], epoch = part[6],
    cause = part[7]}
end

local function pack(value)
  if value.unreadable then return '?' end
  return string.format('1 %.0f %.0f %.0f %.0f %.0f %.0f ', value.facts, value.first, value.last, value.marks,
    value.coarse, value.epoch) .. value.cause
end

-- As `Taint::join`, but for the number of marks.
local function join(to, from, marks)
  if from.facts == 0 then return end
  local new = to.facts == 0
  local earlier = new or from.first < to.first or (from.first == to.first and from.cause < to.cause)
  if earlier and (from.cause ~= '-' or to.cause == '-') then to.cause = from.cause end
  to.first = new and from.first or math.min(to.first, from.first)
  to.facts = bit.bor(to.facts, from.facts)
  to.last = math.max(to.last, from.last)
  to.coarse = math.max(to.coarse, from.coarse)
  to.marks = math.min(marks, MAX)
end
