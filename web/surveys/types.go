package surveys

import ()
