-- The language and its library under load: numbers, strings, tables, closures, coroutines, the
-- collector. Prints checksums that do not depend on addresses.
local function sum(text)
  local h = 5381
  for i = 1, #text do h = (h * 33 + text:byte(i)) % 4294967296 end
  return h
end

-- Numbers: integers wrap, floats are IEEE.
print(math.maxinteger + 1 == math.mininteger, 7 // -2, 7 % -2, 7.5 // -2, -7 >> 60, 1 << 63)
print(string.format("%.17g %a %d %x", 0.1, 1 / 3, -5, 255), 2 ^ 53, 1e308 * 10, -(0 / 0) ~= 0)
print(math.tointeger(3.0), math.type(1), math.type(1.0), math.ult(1, -1), 0x7fffffffffffffff + 0.0)
print(pcall(function() return 1 // 0 end), 1 / 0, -1 / 0, 5 % math.huge)

-- Strings and patterns.
local words = {}
for w in ("the quick brown fox jumps over the lazy dog"):gmatch("%a+") do words[#words + 1] = w end
table.sort(words)
print(table.concat(words, ","), (("x"):rep(10, "-")), ("abc"):reverse(), ("%d"):format(3))
print(("key = value; k2 = v2"):gsub("(%w+) = (%w+)", "%2 = %1"))
print(string.pack("<i4 z s2", 42, "zero", "two"):byte(1, -1))
print(utf8.char(228, 8364, 128512), utf8.len("äöü"), #utf8.char(128512))

-- Sorting with a comparison, and tables with holes.
local seed, numbers = 42, {}
for i = 1, 50000 do
  seed = (seed * 1103515245 + 12345) % 2147483648
  numbers[i] = seed
end
table.sort(numbers, function(a, b) return a > b end)
for i = 2, #numbers do assert(numbers[i - 1] >= numbers[i]) end
print(#numbers, numbers[1], numbers[#numbers], sum(table.concat(numbers, " ", 1, 1000)))

-- Coroutines: a producer, filters and a consumer.
local function producer(n)
  return coroutine.wrap(function() for i = 2, n do coroutine.yield(i) end end)
end
local function filter(p, source)
  return coroutine.wrap(function()
    for n in source do if n % p ~= 0 then coroutine.yield(n) end end
  end)
end
local source, primes = producer(1200), {}
while true do
  local p = source()
  if not p then break end
  primes[#primes + 1] = p
  source = filter(p, source)
end
print(#primes, primes[#primes])

-- The collector: trees that become garbage, weak tables, finalizers.
local function tree(depth)
  if depth == 0 then return {} end
  return {tree(depth - 1), tree(depth - 1)}
end
local function count(t) return t[1] and 1 + count(t[1]) + count(t[2]) or 1 end
local total = 0
for _ = 1, 20 do total = total + count(tree(11)) end
local weak, ended = setmetatable({}, {__mode = "v"}), 0
for i = 1, 1000 do weak[i] = setmetatable({}, {__gc = function() ended = ended + 1 end}) end
collectgarbage()
collectgarbage()
print(total, next(weak), ended)

-- Errors, metatables, goto, closing variables.
local Vector = {}
Vector.__index = Vector
Vector.__add = function(a, b) return setmetatable({a[1] + b[1], a[2] + b[2]}, Vector) end
Vector.__tostring = function(v) return "(" .. v[1] .. " " .. v[2] .. ")" end
print(tostring(setmetatable({1, 2}, Vector) + setmetatable({3, 4}, Vector)))
print(select(2, pcall(error, {code = 7})).code, pcall(string.rep, "x", -1))
print(select("#", table.unpack({}, 1, 250)), pcall(string.rep, "x", 1 << 40))
do
  local closed <close> = setmetatable({}, {__close = function() print("closed") end})
  for i = 1, 3 do
    if i == 2 then goto continue end
    io.write(i, " ")
    ::continue::
  end
  print()
end
local function deep(n) return n == 0 and 0 or 1 + deep(n - 1) end
print(deep(10000), pcall(function() local function f() return 1 + f() end return f() end))
