@testable import CoherenceModelMacrosPlugin
import SwiftParser
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacros

private let macros: [String: MacroSpec] = [
  "Entity": MacroSpec(type: EntityMacro.self, conformances: ["DeclaredEntity", "SnapshotProviding"]),
  "Subentity": MacroSpec(type: EntityMacro.self, conformances: ["DeclaredSubentity"]),
  "Attribute": MacroSpec(type: MarkerMacro.self),
  "Relationship": MacroSpec(type: MarkerMacro.self),
  "Transient": MacroSpec(type: MarkerMacro.self),
  "_Stored": MacroSpec(type: StoredMacro.self),
  "CoherenceModelMacros._Stored": MacroSpec(type: StoredMacro.self),
  "Composite": MacroSpec(type: CompositeMacro.self, conformances: ["CompositeValue"]),
  "Index": MacroSpec(type: ListMacro.self),
  "Unique": MacroSpec(type: ListMacro.self),
]

/// The source with the macros expanded, in which each run of spaces and line breaks is one space.
func expansion(of source: String) -> String {
  let file = Parser.parse(source: source)
  let context = BasicMacroExpansionContext(sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "test.swift")])
  return expand(file, context).description.withSingleSpaces
}

extension String {
  /// The text in which each run of spaces and line breaks is one space.
  var withSingleSpaces: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}

/// The diagnostics of the macros in a source: the line, the message and the proposed corrections.
func complaints(of source: String) -> [String] {
  let context = expandedContext(of: Parser.parse(source: source))
  return context.diagnostics.map { diagnostic in
    let line = context.location(of: diagnostic.node, at: .afterLeadingTrivia, filePathMode: .filePath)?.line
    return ([line?.trimmedDescription ?? "?", diagnostic.message] + diagnostic.fixIts.map(\.message.message))
      .joined(separator: " | ")
  }
}

/// The source after a proposed correction.
func corrected(_ source: String, by message: String) -> String {
  let context = expandedContext(of: Parser.parse(source: source))
  let changes = context.diagnostics.flatMap(\.fixIts).first { $0.message.message == message }?.changes ?? []
  var bytes = Array(source.utf8)
  for case .replace(let old, let new) in changes {
    guard let start = offset(of: old, in: source, context) else { continue }
    bytes.replaceSubrange(start..<start + old.totalLength.utf8Length, with: Array(new.description.utf8))
  }
  return String(decoding: bytes, as: UTF8.self)
}

/// The number of bytes before a node with its leading trivia.
private func offset(of node: Syntax, in source: String, _ context: BasicMacroExpansionContext) -> Int? {
  guard let location = context.location(of: node, at: .beforeLeadingTrivia, filePathMode: .filePath),
    let line = Int(location.line.trimmedDescription), let column = Int(location.column.trimmedDescription)
  else { return nil }
  let lines = source.split(separator: "\n", omittingEmptySubsequences: false).prefix(line - 1)
  return lines.reduce(0) { $0 + $1.utf8.count + 1 } + column - 1
}

private func expandedContext(of file: SourceFileSyntax) -> BasicMacroExpansionContext {
  let context = BasicMacroExpansionContext(sourceFiles: [file: .init(moduleName: "Test", fullFilePath: "test.swift")])
  _ = expand(file, context)
  AccessorExpander(context).walk(file)
  return context
}

/// Expands the accessors of stored properties. The expander of swift-syntax finds no macro by a name with its module,
/// which is the name that `@Entity` writes.
private final class AccessorExpander: SyntaxVisitor {
  private let context: BasicMacroExpansionContext

  init(_ context: BasicMacroExpansionContext) {
    self.context = context
    super.init(viewMode: .sourceAccurate)
  }

  override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind {
    guard let marker = node.marker("Entity") ?? node.marker("Subentity") else { return .visitChildren }
    for member in node.memberBlock.members {
      do {
        let attributes = try EntityMacro.expansion(
          of: marker, attachedTo: node, providingAttributesFor: member.decl, in: context)
        for attribute in attributes {
          _ = try StoredMacro.expansion(of: attribute, providingAccessorsOf: member.decl, in: context)
        }
      } catch {
        context.addDiagnostics(from: error, node: member)
      }
    }
    return .visitChildren
  }
}

private func expand(_ file: SourceFileSyntax, _ context: BasicMacroExpansionContext) -> Syntax {
  file.expand(
    macroSpecs: macros,
    contextGenerator: { node in
      BasicMacroExpansionContext(sharingWith: context, lexicalContext: node.allMacroLexicalContexts())
    }, indentationWidth: .spaces(2))
}
