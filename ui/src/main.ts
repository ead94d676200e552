import { mount } from 'svelte'
import './style/theme.css'
import './style/base.css'
import { syncWithUrl } from './data/view.svelte'
import App from './panels/App.svelte'

syncWithUrl()
mount(App, { target: document.getElementById('app')! })
