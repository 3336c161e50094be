-- Argo CD's health of HookPolicy, ClusterHookPolicy, HookOverride and HookRollout: what kstatus says of them, and that
-- a halted rollout is degraded. A policy or rollout that holds Clusters is healthy: that is what it is for.
local status = obj.status or {}

if status.observedGeneration ~= obj.metadata.generation then
  return { status = "Progressing", message = "not seen by the operator yet" }
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

local function is(type, value)
  return conditions[type] ~= nil and conditions[type].status == value
end

if is("Reconciling", "True") then
  return { status = "Progressing", message = conditions.Reconciling.message }
end
if is("Stalled", "True") then
  return { status = "Degraded", message = conditions.Stalled.message }
end
-- Of rollouts.
if is("Halted", "True") then
  return { status = "Degraded", message = conditions.Halted.message }
end
-- In force, though nobody asks.
if is("NotCalled", "True") then
  return { status = "Healthy", message = conditions.NotCalled.message }
end
-- Of policies and rollouts; of overrides, which have ended when it is False.
for _, type in ipairs({ "Ready", "Active" }) do
  if conditions[type] ~= nil and (type == "Active" or is(type, "True")) then
    return { status = "Healthy", message = conditions[type].message }
  end
end
return { status = "Progressing", message = "not judged by the operator yet" }
