import { Card } from '~/ui/Card';
import { Empty } from '~/ui/Empty';
import { PageHeader } from '~/ui/PageHeader';
import { useWords } from '~/words';

export function Page() {
  const { w } = useWords();
  return (
    <>
      <PageHeader title={w.create.title} />
      <Card>
        <Empty title={w.common.comingSoon} />
      </Card>
    </>
  );
}
