import CoherenceModelFiles

/// Writes the type that lists the classes of a model and builds it.
struct ModelListCode {
  let plan: CodePlan

  /// The name of the type: `MusicModel` for a model `Music`.
  var name: String {
    let name = SwiftName.capitalized(plan.file.name ?? "")
    return (SwiftName.isIdentifier(name) ? name : "") + "Model"
  }

  private var access: String { plan.options.access.prefix }

  /// The lines of the type.
  var lines: [String] {
    let classes = plan.file.entities.map { "\(plan.className(of: $0)).self" }
    return [
      "/// The model of the classes.",
      "\(access)enum \(name) {",
      "  /// The classes of the entities.",
      "  \(access)static var classes: [any DeclaredEntity.Type] {",
    ]
      + SourceLine.array(classes, indentation: "    ")
      + [
        "  }",
        "",
        "  /// Builds the model.",
        "  \(access)static func make() throws -> ManagedObjectModel {",
      ]
      + SourceLine.call("try ManagedObjectModel", arguments, indentation: "    ")
      + ["  }", "}"]
  }

  private var arguments: [SourceLine.Argument] {
    var arguments: [SourceLine.Argument] = [.text("classes: classes")]
    if let name = plan.file.name { arguments.append(.text("name: \(SwiftName.literal(name))")) }
    let configurations = plan.file.configurations.map { configuration -> SourceLine.Argument in
      let classes = configuration.entities.compactMap { plan.entity($0).map { "\(plan.className(of: $0)).self" } }
      return .list(label: SwiftName.literal(configuration.name), classes.map { .text($0) })
    }
    if !configurations.isEmpty { arguments.append(.list(label: "configurations", configurations)) }
    if let identifier = plan.file.versionIdentifier, !identifier.isEmpty {
      arguments.append(.list(label: "versionIdentifiers", [.text(SwiftName.literal(identifier))]))
    }
    return arguments
  }

  /// A sentence for each part of the file that the model does without.
  var warnings: [String] {
    let missing = plan.file.configurations.flatMap { configuration in
      configuration.entities.filter { plan.entity($0) == nil }.map {
        "The configuration '\(configuration.name)' omits '\($0)', which is not an entity of the model file."
      }
    }
    return missing
      + plan.file.fetchRequests.map {
        "The fetch request '\($0.name)' is left out: 'ModelFile.fetchRequest(named:for:)' makes it from the model file."
      }
  }
}
