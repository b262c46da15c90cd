import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { environmentsQuery, previewQuery } from '~/api/queries';
import type { Environment } from '~/api/types';
import { useDenied } from '~/api/useWhyNot';
import { Banner } from '~/ui/Banner';
import { Button } from '~/ui/Button';
import { Card } from '~/ui/Card';
import { Confirm } from '~/ui/Confirm';
import { useLater } from '~/ui/later';
import { PageHeader } from '~/ui/PageHeader';
import { useWords } from '~/words';
import { Basics } from './Basics';
import { Distributed } from './Distributed';
import { keepDraft } from './draft';
import { Environments } from './Environments';
import type { Form } from './form';
import { Launch } from './Launch';
import { MODES } from './modes';
import { Queue } from './Queue';
import { previewOf, requestOf } from './request';
import { SameTask } from './SameTask';
import { Strategy } from './Strategy';
import { Summary } from './Summary';
import { withMaster } from './selection';
import { summaryOf } from './totals';
import { trainingOf } from './training';
import { useCreate } from './useCreate';
import { Work } from './Work';

type EditorProps = { from: string | null; initial: Form; pristine: Form };

export function Editor({ from, initial, pristine }: EditorProps) {
  const { w, number } = useWords();
  const [kept, setForm] = useState(initial);
  const [isClearing, setClearing] = useState(false);
  const environments = useQuery(environmentsQuery());
  const byId = useMemo(
    () => new Map((environments.data?.items ?? []).map((environment) => [environment.id, environment])),
    [environments.data],
  );
  // What is chosen may be gone since: it is neither shown nor sent.
  const form = useMemo((): Form => {
    if (!environments.data) return kept;
    return {
      ...kept,
      ...withMaster(
        kept.nodeIds.filter((id) => byId.has(id)),
        kept.masterNode,
      ),
    };
  }, [kept, byId, environments.data]);
  const chosen = form.nodeIds.flatMap((id): Environment[] => [byId.get(id) ?? []].flat());
  const summary = summaryOf(chosen);
  const request = useMemo(() => requestOf(form), [form]);
  const previewed = useLater(
    useMemo(() => previewOf(form), [form]),
    250,
  );
  const preview = useQuery(previewQuery(previewed));
  const create = useCreate(from);
  const denied = useDenied('create');
  const set = (patch: Partial<Form>) => {
    setForm((before) => ({ ...before, ...patch }));
    create.forget();
  };
  useEffect(() => {
    if (kept !== pristine) keepDraft(localStorage, from, kept);
  }, [kept, from, pristine]);

  const isAuto = form.mode === 'auto';
  const isWrong = form.work === 'recipe' && trainingOf(form.training).problem !== null;
  const parts = { form, set, refused: create.refused };
  const submit = (
    <Button
      tone="primary"
      size="lg"
      className="w-full !shrink"
      isBusy={create.isPending}
      disabledReason={denied ?? (isWrong ? w.create.trainingFirst : null)}
      onClick={() => create.submit(request)}
      data-create=""
    >
      {w.create.submit}
    </Button>
  );
  return (
    <>
      <PageHeader
        title={w.create.title}
        note={from ? w.create.cloneOf(from) : undefined}
        actions={
          <Button tone="ghost" onClick={() => setClearing(true)}>
            {w.create.reset}
          </Button>
        }
      />
      {denied ? (
        <Banner tone="warn" className="mb-4">
          {denied}
        </Banner>
      ) : null}
      <div className="grid items-start gap-4 pb-20 lg:grid-cols-[minmax(0,1fr)_336px] lg:pb-0">
        <div className="flex min-w-0 flex-col gap-4">
          <Basics {...parts} />
          <Card title={w.create.launch} bodyClass="flex flex-col gap-4 p-4">
            <Launch {...parts} environments={environments.data?.items ?? []} modes={MODES} />
            {isAuto ? null : <Environments {...parts} query={environments} />}
            {!isAuto && form.nodeIds.length > 1 ? <Distributed {...parts} chosen={chosen} /> : null}
            <Queue {...parts} />
          </Card>
          <Strategy {...parts} summary={summary} preview={preview.data ?? null} />
          <Work {...parts} />
          <SameTask request={request} nameOf={(id) => byId.get(id)?.name ?? id} />
        </div>
        <Summary form={form} chosen={chosen} summary={summary} preview={preview} submit={submit} />
      </div>
      <div className="fixed inset-x-0 bottom-0 z-30 flex items-center gap-3 border-t border-line bg-raised px-4 py-3 lg:hidden">
        <span className="shrink-0 text-sm text-muted">
          {isAuto ? w.create.modes.auto : w.create.chosen(number(form.nodeIds.length))}
        </span>
        {submit}
      </div>
      <Confirm
        open={isClearing}
        onClose={() => setClearing(false)}
        title={w.create.reset}
        text={w.create.resetText}
        confirm={w.create.reset}
        cancel={w.common.cancel}
        onConfirm={() => {
          setForm(pristine);
          create.clear();
          setClearing(false);
        }}
      />
    </>
  );
}
