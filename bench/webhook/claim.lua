-- wrk's script: posts the review given as the first argument, each time with another number in place of its zeros, counting
-- from the second argument on, so that every claim is a new one. The first answer that is not allowed ends wrk.
dofile("review.lua")
local post = init
local zeros = "000000000000"
local parts, number = {}, 0

function init(args)
  post(args)
  number = assert(tonumber(args[2]))
  for part in (wrk.body .. zeros):gmatch("(.-)" .. zeros) do parts[#parts + 1] = part end
end

function request()
  number = number + 1
  return wrk.format(nil, nil, nil, table.concat(parts, string.format("%012d", number)))
end

function response(status, headers, body)
  if status ~= 200 or not body:find('"allowed":true', 1, true) then
    io.stderr:write("claim ", number, " or an earlier one: ", status, " ", body, "\n")
    os.exit(1)
  end
end
