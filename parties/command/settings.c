#include "parties/command/settings.h"

#include "parties/settings/three/trio.h"
#include "parties/settings/two/duo.h"

static const struct setting *const settings[] = {&trio_setting, &duo_setting};

const struct setting *settings_of(const struct study *study)
{
    size_t k = 0;
    while (settings[k]->split->servers != study->servers) /* study_parse() takes no others */
        k++;
    return settings[k];
}
