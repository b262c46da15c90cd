import { getRouteApi } from '@tanstack/react-router';
import { PageHeader } from '~/ui/PageHeader';
import { Tabs } from '~/ui/Tabs';
import { useWords } from '~/words';
import { Audit } from './Audit';
import { General } from './General';
import { Join } from './Join';
import { Secrets } from './Secrets';
import { TABS } from './search';
import { Tokens } from './Tokens';
import { Users } from './Users';
import { Webhooks } from './Webhooks';

const route = getRouteApi('/settings');
const PANELS = {
  general: General,
  users: Users,
  tokens: Tokens,
  join: Join,
  secrets: Secrets,
  webhooks: Webhooks,
  audit: Audit,
};

export function Page() {
  const { w } = useWords();
  const { tab = 'general' } = route.useSearch();
  const navigate = route.useNavigate();
  const Panel = PANELS[tab];
  return (
    <>
      <PageHeader title={w.settings.title} />
      <Tabs
        aria-label={w.settings.title}
        value={tab}
        onChange={(next) => void navigate({ search: next === 'general' ? {} : { tab: next } })}
        tabs={TABS.map((value) => ({ value, label: w.settings.tabs[value] }))}
      >
        <Panel />
      </Tabs>
    </>
  );
}
