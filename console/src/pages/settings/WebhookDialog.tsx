import { useState } from 'react';
import { ActDialog } from '~/api/ActDialog';
import { client, q } from '~/api/client';
import { keys } from '~/api/queries';
import type { WebhookFormat, WebhookTopic } from '~/api/types';
import { SelectField } from '~/ui/SelectField';
import { TextField } from '~/ui/TextField';
import { Tick } from '~/ui/Tick';
import { useWords } from '~/words';

export const TOPICS: WebhookTopic[] = ['succeeded', 'failed', 'stopped', 'waiting'];
const FORMATS: WebhookFormat[] = ['feishu', 'dingtalk', 'wecom', 'slack', 'json'];
const BY_ADDRESS = 'auto';

/** Adds a webhook. Of its address and its secret nothing but the host is shown again. */
export function WebhookDialog({ onClose }: { onClose: () => void }) {
  const { w, language } = useWords();
  const [name, setName] = useState('');
  const [url, setUrl] = useState('');
  const [format, setFormat] = useState<WebhookFormat | typeof BY_ADDRESS>(BY_ADDRESS);
  const [topics, setTopics] = useState<readonly WebhookTopic[]>(TOPICS);
  const [owner, setOwner] = useState('');
  const [secret, setSecret] = useState('');
  const body = {
    name: name.trim(),
    url: url.trim(),
    format: format === BY_ADDRESS ? null : format,
    topics: [...topics],
    owner: owner.trim() || null,
    secret: secret || null,
    language,
  };
  return (
    <ActDialog
      title={w.settings.addWebhook}
      description={w.settings.webhookHint}
      submit={w.settings.addWebhook}
      call={() => q(client.POST('/api/v1/webhooks', { body }))}
      changes={[keys.webhooks]}
      done={() => w.settings.webhookAdded(name.trim())}
      onClose={onClose}
    >
      {(refusedAt) => (
        <>
          <TextField label={w.common.name} isRequired error={refusedAt('name')} value={name} onChange={setName} />
          <TextField
            label={w.settings.webhookUrl}
            isRequired
            hint={w.settings.webhookUrlHint}
            error={refusedAt('url')}
            placeholder="https://open.feishu.cn/open-apis/bot/v2/hook/…"
            className="font-mono"
            value={url}
            onChange={setUrl}
          />
          <fieldset className="flex flex-col gap-1.5">
            <legend className="mb-1.5 text-sm font-medium">{w.settings.webhookTopics}</legend>
            <div className="flex flex-wrap gap-x-5 gap-y-2">
              {TOPICS.map((topic) => (
                <Tick
                  key={topic}
                  label={w.settings.topics[topic]}
                  isTicked={topics.includes(topic)}
                  onChange={(isTicked) =>
                    setTopics(TOPICS.filter((one) => (one === topic ? isTicked : topics.includes(one))))
                  }
                />
              ))}
            </div>
            {refusedAt('topics') ? (
              <p role="alert" className="text-xs text-bad">
                {refusedAt('topics')}
              </p>
            ) : null}
          </fieldset>
          <SelectField
            label={w.settings.webhookFormat}
            error={refusedAt('format')}
            value={format}
            onChange={setFormat}
            options={[
              { value: BY_ADDRESS, label: w.settings.byAddress },
              ...FORMATS.map((value) => ({ value, label: w.settings.formats[value] })),
            ]}
          />
          <TextField
            label={w.settings.webhookSecret}
            hint={w.settings.webhookSecretHint}
            error={refusedAt('secret')}
            type="password"
            value={secret}
            onChange={setSecret}
          />
          <TextField
            label={w.settings.webhookOwner}
            hint={w.settings.webhookOwnerHint}
            error={refusedAt('owner')}
            value={owner}
            onChange={setOwner}
          />
        </>
      )}
    </ActDialog>
  );
}
