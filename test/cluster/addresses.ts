/** The network of the nodes (nodes/inside.sh): only they, and what enters it, can reach these. */

export const nodeIp = (node: number): string => `10.250.0.${node}`;
export const API_SERVER_IP = nodeIp(1);
export const API_SERVER = `https://${API_SERVER_IP}:6443`;
/** Every node and Pod has an address of each family; the first is that of IPv4. */
export const API_SERVER_IPV6 = "fd00:10:250::1";
