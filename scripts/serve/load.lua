-- wrk's part of load.py: sends one request, and compares every answer with the expected one.
-- Arguments: the file of the request, the file of the answer, the number of requests.

local threads = {}

function setup(thread)
    table.insert(threads, thread)
end

local function contents(path)
    local file = assert(io.open(path, "rb"))
    local text = file:read("*a")
    file:close()
    return text
end

function init(arguments)
    wrk.method = "POST"
    wrk.headers["content-type"] = "application/json"
    wrk.body = contents(arguments[1])
    expected = contents(arguments[2])
    share = tonumber(arguments[3])
    answered, wrong = 0, 0
end

function response(status, _, body)
    answered = answered + 1
    if status ~= 200 or body ~= expected then
        wrong = wrong + 1
    end
    if answered == share then
        wrk.thread:stop()
        -- wrk sleeps until its time ends, unless load.py interrupts it.
        io.stderr:write("done\n")
    end
end

-- One line of JSON. Times are in microseconds.
function done(summary, latency)
    local answered, wrong, errors = 0, 0, summary.errors
    for _, thread in ipairs(threads) do
        answered = answered + thread:get("answered")
        wrong = wrong + thread:get("wrong")
    end
    print(string.format(
        '{"answered":%d,"wrong":%d,"failed":%d,"p50":%d,"p99":%d,"max":%d,"duration":%d}',
        answered, wrong, errors.connect + errors.read + errors.write + errors.timeout,
        latency:percentile(50), latency:percentile(99), latency.max, summary.duration))
end
