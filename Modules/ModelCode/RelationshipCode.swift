import CoherenceCore
import CoherenceModelFiles

/// Writes the variable of a relationship.
struct RelationshipCode {
  let relationship: ModelFile.Relationship
  let entity: ModelFile.Entity
  let plan: CodePlan

  private var isToMany: Bool { relationship.isEffectivelyToMany }

  /// The relationship and its entity, for sentences.
  private var subject: String { "'\(relationship.name)' of '\(entity.name)'" }

  /// The variable, and the sentences about it.
  func variable() -> CodePart {
    guard plan.entity(relationship.destination) != nil else {
      return CodePart(
        faults: ["The relationship \(subject) leads to '\(relationship.destination)', which is no entity of the file."])
    }
    let access = plan.options.access.prefix
    let name = SwiftName.escaped(relationship.name)
    let target = plan.className(of: relationship.destination)
    if relationship.isTransient {
      let type = isToMany ? "[\(target)] = []" : "\(target)?"
      return CodePart(
        lines: CodeArguments.lines(marker: ("@Transient", []), declaration: "\(access)var \(name): \(type)"),
        warnings: ["The transient relationship \(subject) is an ordinary variable: its inverse is not kept."])
    }
    let collection = relationship.isOrdered ? "OrderedToMany" : "ToMany"
    let type = isToMany ? "\(collection)<\(target)>" : "\(target)?"
    let arguments = self.arguments
    let marker = isToMany && arguments.isEmpty ? nil : ("@Relationship", arguments)
    return CodePart(
      lines: CodeArguments.lines(marker: marker, declaration: "\(access)var \(name): \(type)"))
  }

  /// The arguments of `@Relationship`.
  private var arguments: [SourceLine.Argument] {
    var arguments: [SourceLine.Argument] = []
    if let inverse = relationship.inverse, plan.namesInverse(relationship, of: entity) {
      let target = plan.className(of: relationship.destination)
      // The compiler refuses a key path to the property that it describes as a circular reference.
      let isOwnInverse = inverse == relationship.name && relationship.destination == entity.name
      let path = isOwnInverse ? SwiftName.literal(inverse) : "\\\(target).\(SwiftName.escaped(inverse))"
      arguments.append(.text("inverse: \(path)"))
    }
    if relationship.deleteRule != .nullify {
      arguments.append(.text("deleteRule: .\(relationship.deleteRule.rawValue)"))
    }
    if isToMany {
      // A required relationship needs a member even with a least number of 0. The least number of an optional
      // relationship has no effect.
      let least = relationship.isOptional ? 0 : max(relationship.minimumCount ?? 0, 1)
      if least > 0 { arguments.append(.text("minimumCount: \(ValueCode.grouped(Int64(least)))")) }
      if let greatest = relationship.maximumCount, greatest > 0 {
        arguments.append(.text("maximumCount: \(ValueCode.grouped(Int64(greatest)))"))
      }
    } else if !relationship.isOptional {
      arguments.append(.text("required: true"))
    }
    let former = plan.file.formerNames(
      relationship.renamingIdentifier, relationship.userInfo, at: "\(entity.name).\(relationship.name)")
    return arguments + CodeArguments.formerNames(former) + CodeArguments.userInfo(relationship.userInfo)
  }
}
