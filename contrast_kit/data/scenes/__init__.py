from contrast_kit.data.scenes.shelf import scene
