#!/usr/bin/env node

/** The first file of the built program: loads the others, where Node.js is new enough. */

import { dirname } from 'node:path';
import { findOldNode } from '../domain/node-version.ts';
import { createFileLoader, FIRST_FILE, loadCachedFiles } from './file-loader.ts';

const directory = dirname(__filename);
const requireOther = (id: string): unknown => require(id);
const mistake = findOldNode(process.versions.node);
if (mistake === undefined)
  createFileLoader({ directory, cached: loadCachedFiles(directory), requireOther }).load(FIRST_FILE);
else {
  console.error(mistake);
  process.exitCode = 1;
}
