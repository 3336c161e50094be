-- Argo CD's health of Cluster API's ExtensionConfigs: whether Cluster API calls the hooks. "Discovered" is False for seconds
-- after each installation, and stays False, with the reason in its message, if something is wrong.
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "Discovered" then
    if condition.status == "True" then
      return { status = "Healthy", message = "Cluster API calls the hooks" }
    end
    return { status = "Progressing", message = condition.message }
  end
end
return { status = "Progressing", message = "not discovered by Cluster API yet" }
