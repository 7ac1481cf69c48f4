/// The warnings about the parts of a file without an effect.
extension DeclarationBuilder {
  /// Adds a warning for each setting of the file that the framework does not have. A setting with the value `NO`
  /// or `false` is not in use, and the element `elements` has the positions in the editor.
  mutating func report(_ attributes: [String: String], _ elements: [ModelFile.Markup], of title: String) {
    for (name, value) in attributes.sorted(by: { $0.key < $1.key })
    where !Self.editorSettings.contains(name) && value != "NO" && value != "false" {
      warnings.append("\(title) has the setting '\(name)', which has no effect.")
    }
    for element in elements where element.name != "elements" {
      warnings.append("\(title) has the element '\(element.name)', which has no effect.")
    }
  }

  /// Adds the warnings about elements whose list or dictionary represents only a part of them.
  mutating func report(_ elements: [ModelFile.Markup]?, of title: String) {
    for element in elements ?? [] {
      report(element.unreadAttributes, element.unreadElements, of: "\(title): the element '\(element.name)'")
      report(element.readElements, of: title)
    }
  }

  /// Adds the warnings about an attribute and the parts that the file declares at it.
  mutating func report(_ attribute: ModelFile.Attribute, at path: String) {
    let title = "Attribute '\(path)'"
    // The attribute that names the composite type has an effect under any name.
    let type = attribute.kind == .composite ? file.compositeType(of: attribute)?.name : nil
    report(attribute.otherAttributes.filter { $0.value != type }, attribute.otherElements, of: title)
    report(attribute.userInfoSource?.elements, of: title)
    for part in attribute.parts { report(part, at: "\(path).\(part.name)") }
  }

  /// Adds the warnings about the attributes and elements of the root, the composite types and the configurations.
  mutating func reportFile() {
    for composite in file.composites {
      report(composite.otherAttributes, composite.otherElements, of: "Composite type '\(composite.name)'")
      for part in composite.parts { report(part, at: "\(composite.name).\(part.name)") }
    }
    for configuration in file.configurations {
      let title = "Configuration '\(configuration.name)'"
      report(configuration.otherAttributes, configuration.otherElements, of: title)
      report(configuration.entitiesSource?.elements, of: title)
    }
    report(file.otherAttributes.filter { !Self.rootSettings.contains($0.key) }, file.otherElements, of: "The file")
  }

  /// Settings of the editor and of code generation, or of the storage of values, which do not change a model's meaning.
  /// The editor marks every fetched property as optional.
  private static let editorSettings: Set<String> = [
    "syncable", "indexed", "allowsExternalBinaryDataStorage", "optional",
  ]

  /// Attributes of the root element about the editor and its platforms.
  private static let rootSettings: Set<String> = [
    "name", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
    "sourceLanguage", "macOSVersion", "iOSVersion", "tvOSVersion", "watchOSVersion", "usedWithSwiftData",
  ]
}
