-- wrk's script: posts the review given as the first argument; prints what was measured as one line of JSON.
-- wrk counts a status of 400 and over as an error; that a good answer is a 200 is checked before and after the load.
function init(args)
  local file = assert(io.open(args[1], "rb"))
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Accept"] = "application/json, */*"
  wrk.body = file:read("*a")
  file:close()
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"p50_ms":%.4f,"p99_ms":%.4f,"errors":%d,' ..
    '"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    e.connect + e.read + e.write + e.status + e.timeout, e.connect, e.read, e.write, e.status, e.timeout))
end
