#!/usr/bin/env node

/** The first file of the built program: loads the others. */

import { dirname } from 'node:path';
import { createFileLoader } from './file-loader.ts';

createFileLoader(dirname(__filename)).load('program.js');
