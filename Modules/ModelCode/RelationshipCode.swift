import CoherenceCore
import CoherenceModelFiles

/// Writes the variable of a relationship.
struct RelationshipCode {
  let relationship: ModelFile.Relationship
  let entity: ModelFile.Entity
  let plan: CodePlan

  private var place: String { "'\(relationship.name)' of '\(entity.name)'" }

  /// The variable, and the sentences about it.
  func variable() -> CodePart {
    guard plan.entity(relationship.destination) != nil else {
      return CodePart(
        faults: ["The relationship \(place) leads to '\(relationship.destination)', which is no entity of the file."])
    }
    let access = plan.options.access.prefix
    let name = SwiftName.escaped(relationship.name)
    let target = plan.className(of: relationship.destination)
    if relationship.isTransient {
      let type = relationship.isToMany ? "[\(target)] = []" : "\(target)?"
      return CodePart(
        lines: CodeArguments.lines(marker: ("@Transient", []), declaration: "\(access)var \(name): \(type)"),
        warnings: ["The transient relationship \(place) is an ordinary variable: its inverse is not kept."])
    }
    let collection = relationship.isOrdered ? "OrderedToMany" : "ToMany"
    let type = relationship.isToMany ? "\(collection)<\(target)>" : "\(target)?"
    let arguments = self.arguments
    let marker = relationship.isToMany && arguments.isEmpty ? nil : ("@Relationship", arguments)
    return CodePart(
      lines: CodeArguments.lines(marker: marker, declaration: "\(access)var \(name): \(type)"))
  }

  private var arguments: [SourceLine.Argument] {
    var arguments: [SourceLine.Argument] = []
    if let inverse = relationship.inverse, plan.namesInverse(relationship, of: entity) {
      let target = plan.className(of: relationship.destination)
      // A key path to the property itself would be a circle.
      let isOwnInverse = inverse == relationship.name && relationship.destination == entity.name
      let path = isOwnInverse ? SwiftName.literal(inverse) : "\\\(target).\(SwiftName.escaped(inverse))"
      arguments.append(.text("inverse: \(path)"))
    }
    if relationship.deleteRule != .nullify {
      arguments.append(.text("deleteRule: .\(relationship.deleteRule.rawValue)"))
    }
    if relationship.isToMany {
      let minimum = relationship.minimumCount ?? 0
      // Core Data refuses a required to-many relationship without members, whatever its least number.
      let least = relationship.isOptional ? minimum : max(minimum, 1)
      if least > 0 { arguments.append(.text("minimumCount: \(ValueCode.grouped(Int64(least)))")) }
      if let greatest = relationship.maximumCount, greatest > 0 {
        arguments.append(.text("maximumCount: \(ValueCode.grouped(Int64(greatest)))"))
      }
    } else if !relationship.isOptional {
      arguments.append(.text("required: true"))
    }
    let former = CodeArguments.formerNames(relationship.renamingIdentifier, relationship.userInfo)
    if !former.isEmpty { arguments.append(.list(label: "formerNames", former.map(SwiftName.literal))) }
    return arguments + CodeArguments.userInfo(relationship.userInfo)
  }
}
