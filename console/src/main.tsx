import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Providers } from './shell/Providers';
import './styles/base.css';

const root = document.getElementById('root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Providers />
    </StrictMode>,
  );
}
