import CoherenceModelFiles
import CoherenceModelMacros
import Testing

/// One model in three forms: classes with macros, declarations in code, and a model file among the resources.
@Suite("The forms of a model")
struct ModelFormsTests {
  /// A form of the model of `Music.swift`.
  enum Form: CaseIterable {
    case macros, file

    func model() throws -> ManagedObjectModel {
      switch self {
      case .macros:
        try ManagedObjectModel(
          Track.self, Genre.self, Release.self, Single.self, Maxi.self, Compilation.self, name: "FormsModel",
          configurations: ["Catalog": [Track.self, Genre.self, Release.self], "Singles": [Single.self]],
          versionIdentifiers: ["spring"])
      case .file: try ManagedObjectModel(named: "FormsModel", classes: ModelFormsTests.classes)
      }
    }
  }

  private static let classes: EntityClasses = [
    Track.self, Genre.self, Release.self, Single.self, Maxi.self, Compilation.self,
  ]

  private static func modelInCode() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "FormsModel", entities: musicInCode,
      configurations: ["Catalog": ["Track", "Style", "Release"], "Singles": ["Single"]], versionIdentifiers: ["spring"])
  }

  @Test(arguments: Form.allCases)
  func `a model declared by macros or in a file equals the model declared in code`(form: Form) throws {
    let model = try form.model()
    let expected = try Self.modelInCode()
    #expect(model == expected)
    #expect(model.name == expected.name)
    #expect(model.versionHashes == expected.versionHashes)
    #expect(ModelFacts(model).configurations == ModelFacts(expected).configurations)
  }

  @Test(arguments: Form.allCases, ["Track", "Style", "Release", "Single", "Maxi", "Compilation"])
  func `the description of an entity is the same in each form`(form: Form, name: String) throws {
    let facts = try #require(ModelFacts(try form.model()).entities[name])
    let expected = try #require(ModelFacts(try Self.modelInCode()).entities[name])
    #expect(facts.count == expected.count)
    for (fact, other) in zip(facts, expected) { #expect(fact == other) }
  }

  @Test func `a model declared by macros is written as a file whose model equals it`() throws {
    let declared = try Form.macros.model()
    let file = ModelFile(declared)
    #expect(file.omissions.isEmpty)
    let model = try file.model(classes: Self.classes)
    #expect(ModelFacts(model) == ModelFacts(declared))
    #expect(model.versionHashes == declared.versionHashes)
  }

  /// Changes of the file that alter the model, each by the text that it replaces.
  @Test(arguments: [
    ("defaultValueString=\"Untitled\"", "defaultValueString=\"\""), ("maxValueString=\"5\"", "maxValueString=\"4\""),
    ("deletionRule=\"Deny\"", "deletionRule=\"Nullify\""), ("lowercase:(title)", "canonical:(title)"),
    ("&quot;vinyl&quot;", "&quot;shellac&quot;"), ("elementID=\"picture\"", ""), ("ordered=\"YES\"", ""),
    ("minCount=\"2\"", ""),
    ("value=\"star\"", "value=\"point\""), ("isAbstract=\"YES\"", ""), ("<memberEntity name=\"Single\"/>", ""),
  ])
  func `a file with one difference has another description`(text: String, replacement: String) throws {
    let file = try FormsFile.text()
    #expect(file.contains(text))
    let changed = try ModelFile(xml: FormsFile.data(file.replacing(text, with: replacement)), named: "FormsModel")
    #expect(try ModelFacts(changed.model(classes: Self.classes)) != ModelFacts(Form.file.model()))
  }
}
