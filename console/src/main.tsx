// The entry point of the console.

import { render } from 'preact';

import { App } from './app.tsx';
import './theme.ts';

const root = document.getElementById('app');
if (root) render(<App />, root);
