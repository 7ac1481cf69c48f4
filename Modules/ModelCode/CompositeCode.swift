import CoherenceModelFiles

/// Writes the structure of a composite.
struct CompositeCode {
  let name: String
  let parts: [ModelFile.Attribute]
  let plan: CodePlan

  /// The lines of the structure, and the sentences about it.
  func declaration() -> CodePart {
    let access = plan.options.access.prefix
    var result = CodePart()
    result.lines = [
      "/// The parts of the composite `\(name)`.",
      "@Composite",
      "\(access)struct \(name): Sendable, Codable, Hashable {",
    ]
    var parameters: [String] = []
    for part in parts {
      let variable = AttributeCode(attribute: part, owner: name, ownerClass: name, plan: plan).part()
      result.lines += variable.lines
      if let parameter = variable.parameter { parameters.append(parameter) }
      result.warnings += variable.warnings
      result.faults += variable.faults
      result.needsFoundation = result.needsFoundation || variable.needsFoundation
    }
    if !access.isEmpty { result.lines += [""] + initializer(parameters) }
    result.lines.append("}")
    return result
  }

  /// The initializer for other modules: the memberwise initializer of the compiler is internal.
  ///
  /// - Parameter parameters: The parameters, each with its name, type and default as in the source.
  private func initializer(_ parameters: [String]) -> [String] {
    let head = "\(plan.options.access.prefix)init"
    // The brace belongs to the line.
    var lines = SourceLine.call(head, parameters.map { .text($0) }, indentation: "  ", room: 2)
    if lines.count == 1 {
      lines[0] += " {"
    } else {
      // The parenthesis of a declaration stands on a line of its own, unlike that of a call.
      lines[lines.count - 1].removeLast()
      lines.append("  ) {")
    }
    let names = parameters.map { String($0.prefix { $0 != ":" }) }
    return ["  /// Makes a value from its parts."] + lines + names.map { "    self.\($0) = \($0)" } + ["  }"]
  }
}
