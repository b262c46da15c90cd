import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { webhooksQuery } from '~/api/access';
import { client, q } from '~/api/client';
import { Loaded } from '~/api/Loaded';
import { useNames } from '~/api/names';
import { keys } from '~/api/queries';
import type { Webhook } from '~/api/types';
import { useAct } from '~/api/useAct';
import { useDenied } from '~/api/useWhyNot';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Confirm } from '~/ui/Confirm';
import { Empty } from '~/ui/Empty';
import { PlusIcon } from '~/ui/icons';
import { useNow } from '~/ui/now';
import { Badge, Pill } from '~/ui/Pill';
import { SkeletonRows } from '~/ui/Skeleton';
import { type Column, Table } from '~/ui/Table';
import { useWords } from '~/words';
import { TOPICS, WebhookDialog } from './WebhookDialog';

/** Chats and programs that are told how tasks end, and whether they hear it. */
export function Webhooks() {
  const { w } = useWords();
  const { userName } = useNames();
  const webhooks = useQuery(webhooksQuery());
  const [isAdding, setAdding] = useState(false);
  // Who may not change them may not read them either: this button stands alone then.
  const denied = useDenied('operate');
  const [going, setGoing] = useState<Webhook | null>(null);
  const params = (id: string) => ({ params: { path: { id } } });
  const test = useAct({
    call: ({ id }: Webhook) => q(client.POST('/api/v1/webhooks/{id}/test', params(id))),
    changes: [],
    done: (_, { name }) => w.settings.webhookHeard(name),
  });
  const remove = useAct({
    call: ({ id }: Webhook) => q(client.DELETE('/api/v1/webhooks/{id}', params(id))),
    changes: [keys.webhooks],
    done: (_, { name }) => w.settings.webhookRemoved(name),
    onDone: () => setGoing(null),
  });
  const columns: Column<Webhook>[] = [
    {
      key: 'name',
      head: w.common.name,
      cell: (webhook) => (
        <div className="max-w-40 py-1.5 sm:max-w-72">
          <span className="block truncate font-medium" title={webhook.name}>
            {webhook.name}
          </span>
          <span className="block truncate font-mono text-2xs text-muted" title={webhook.url}>
            {webhook.url}
          </span>
          <div className="sm:hidden">
            <State webhook={webhook} />
          </div>
        </div>
      ),
    },
    {
      key: 'format',
      head: w.settings.webhookFormat,
      cell: ({ format }) => <Badge>{w.settings.formats[format]}</Badge>,
      className: 'hidden sm:table-cell',
    },
    {
      key: 'topics',
      head: w.settings.webhookTopics,
      cell: ({ topics, owner }) => (
        <span className="text-muted">
          {topics.length === TOPICS.length
            ? w.settings.allTopics
            : topics.map((topic) => w.settings.topics[topic]).join(w.settings.listComma)}
          {owner ? ` · ${w.settings.onlyTasksOf(userName(owner))}` : ''}
        </span>
      ),
      className: 'hidden sm:table-cell',
    },
    {
      key: 'state',
      head: w.settings.webhookState,
      cell: (webhook) => <State webhook={webhook} />,
      className: 'hidden sm:table-cell',
    },
    {
      key: 'act',
      head: '',
      align: 'right',
      cell: (webhook) => (
        <span className="flex justify-end gap-1">
          <Button
            size="sm"
            tone="ghost"
            isBusy={test.isPending && test.variables?.id === webhook.id}
            onClick={() => test.mutate(webhook)}
          >
            {w.settings.webhookTest}
          </Button>
          <Button size="sm" tone="danger" onClick={() => setGoing(webhook)}>
            {w.settings.remove}
          </Button>
        </span>
      ),
    },
  ];
  return (
    <Card
      title={w.settings.tabs.webhooks}
      note={w.settings.webhooksNote}
      className="mt-4"
      actions={
        <Button size="sm" icon={<PlusIcon />} disabledReason={denied} onClick={() => setAdding(true)}>
          {w.settings.addWebhook}
        </Button>
      }
    >
      <Loaded
        query={webhooks}
        loading={<SkeletonRows count={3} />}
        isEmpty={({ items }) => items.length === 0}
        empty={
          <Empty
            title={w.settings.noWebhooks}
            hint={w.settings.noWebhooksHint}
            command="fermi webhook add team https://open.feishu.cn/open-apis/bot/v2/hook/KEY --on failed,waiting"
          />
        }
      >
        {({ items }) => (
          <Table label={w.settings.tabs.webhooks} columns={columns} rows={items} rowKey={({ id }) => id} />
        )}
      </Loaded>
      {isAdding ? <WebhookDialog onClose={() => setAdding(false)} /> : null}
      <Confirm
        open={going !== null}
        onClose={() => setGoing(null)}
        onConfirm={() => going && remove.mutate(going)}
        title={w.settings.webhookRemoveTitle(going?.name ?? '')}
        text={w.settings.webhookRemoveText}
        confirm={w.settings.remove}
        cancel={w.common.cancel}
        isBusy={remove.isPending}
      />
    </Card>
  );
}

/** How many were heard; since when nothing gets through, and why. */
function State({ webhook }: { webhook: Webhook }) {
  const { w, say, number, duration, ago, date } = useWords();
  const now = useNow();
  const { failingSince, problem, delivered, deliveredAt, leftOut } = webhook;
  return (
    <div className="flex flex-col gap-0.5 py-1.5 text-xs text-muted">
      {failingSince == null ? (
        <span title={deliveredAt == null ? undefined : date(deliveredAt)}>
          {w.settings.delivered(number(delivered))}
          {deliveredAt == null ? '' : ` · ${ago(deliveredAt, now)}`}
        </span>
      ) : (
        <>
          <Pill tone="bad">{w.settings.failingFor(duration(now - failingSince))}</Pill>
          {problem ? <span className="max-w-80 [overflow-wrap:anywhere]">{say(problem)}</span> : null}
        </>
      )}
      {leftOut > 0 ? <span className="text-bad">{w.settings.leftOut(number(leftOut))}</span> : null}
    </div>
  );
}
