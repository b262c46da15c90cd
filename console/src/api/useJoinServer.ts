import { useQuery } from '@tanstack/react-query';
import { type JoinServer, serverAddress } from './join';
import { serverStatusQuery } from './queries';

/** How machines reach the server of this page; null until it is known by what they know it. */
export function useJoinServer(): JoinServer | null {
  const isEncrypted = window.location.protocol === 'https:';
  const status = useQuery({ ...serverStatusQuery(), enabled: isEncrypted });
  if (isEncrypted && status.isPending) return null;
  return { address: serverAddress(), fingerprint: isEncrypted ? status.data?.fingerprint : null };
}
