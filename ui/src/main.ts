import { mount } from 'svelte'
import './style/theme.css'
import './style/base.css'
import { followAddress } from './data/view.svelte'
import App from './panels/App.svelte'

followAddress()
mount(App, { target: document.getElementById('app')! })
