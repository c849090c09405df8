-- What the interpreter asks of the system: files, time, signals' results, the environment.
local name = os.tmpname()
local f = assert(io.open(name, "w+b"))
f:setvbuf("full", 1024)
for i = 1, 10000 do f:write(i, "\n") end
print(f:seek("cur"), f:seek("set", 5), f:read("l", "n", "n"))
f:seek("end", -10)
print((f:read("a"):gsub("\n", "/")), f:seek("end"))
f:close()
local lines, total = 0, 0
for line in io.lines(name) do lines, total = lines + 1, total + #line end
print(lines, total)
local other = name .. ".new"
print(os.rename(name, other), io.open(name), select(2, os.remove(name)) ~= nil)
local a = assert(io.open(other, "a"))
a:write("end\n")
a:close()
local r = assert(io.open(other))
print(r:seek("end"), io.type(r), r:close(), io.type(r))
print(os.remove(other), (select(3, io.open("/no/such/file"))))
print(os.time({year = 2001, month = 9, day = 9, hour = 1, min = 46, sec = 40, isdst = false}))
print(os.date("!%Y-%m-%d %H:%M:%S", 1000000000), os.clock() >= 0, os.time() > 1000000000)
print(os.getenv("no such variable"), io.stdin:read("a"), io.stdout:write("") == io.stdout)
os.exit(42, true)
