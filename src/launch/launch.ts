#!/usr/bin/env node

/** The first file of the built program: loads the others. */

import { dirname } from 'node:path';
import { createFileLoader, loadCachedFiles } from './file-loader.ts';

const directory = dirname(__filename);
const requireOther = (id: string): unknown => require(id);
createFileLoader({ directory, cached: loadCachedFiles(directory), requireOther }).load('program.js');
