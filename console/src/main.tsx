import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { openByAddress } from './api/session';
import { Providers } from './shell/Providers';
import './styles/base.css';

const root = document.getElementById('root');
if (root) {
  void openByAddress().finally(() =>
    createRoot(root).render(
      <StrictMode>
        <Providers />
      </StrictMode>,
    ),
  );
}
