import { Command } from '~/ui/Copy';
import { Skeleton } from '~/ui/Skeleton';
import { type Joining, joinCommand } from './join';
import { useJoinServer } from './useJoinServer';

type JoinCommandProps = { joining?: Partial<Joining>; token?: string | undefined; className?: string };

/** The command that makes a machine an environment of this server. */
export function JoinCommand({ joining = {}, token, className }: JoinCommandProps) {
  const server = useJoinServer();
  if (!server) return <Skeleton className="h-9 w-full" />;
  return <Command text={joinCommand(server, joining, token)} {...(className ? { className } : {})} />;
}
