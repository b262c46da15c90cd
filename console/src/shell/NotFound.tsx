import { Link } from '@tanstack/react-router';
import { buttonClass } from '~/ui/Button';
import { Empty } from '~/ui/Empty';
import { PageHeader } from '~/ui/PageHeader';
import { useWords } from '~/words';

export function NotFound() {
  const { w } = useWords();
  return (
    <>
      <PageHeader title="404" />
      <Empty
        title={w.common.notFound}
        hint={w.common.notFoundHint}
        action={
          <Link to="/" className={buttonClass('primary')}>
            {w.common.backHome}
          </Link>
        }
      />
    </>
  );
}
