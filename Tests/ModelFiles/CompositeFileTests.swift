import CoherenceCore
import CoherenceModelFiles
import Testing

@Suite("Model files: composites")
struct CompositeFileTests {
  /// The model of the file of a model, read from the text of the file.
  private func reread(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
    let file = ModelFile(model)
    #expect(file.omissions.isEmpty)
    return try MusicFile.make(file.xml).model()
  }

  @Test func `an attribute that became a part of a composite keeps its former name in a file`() throws {
    let shelf = Entity("Shelf") {
      CompositeAttribute(
        "size",
        parts: [
          Attribute("width", .double, formerNames: ["width"]),
          Attribute("height", .double, formerNames: ["box.height", "tallness"]),
          Attribute("point.x", .double, formerNames: ["x"]),
        ])
    }
    let declared = try ManagedObjectModel(name: "Shelf", entities: [shelf])
    let model = try reread(declared)
    #expect(facts(of: model) == facts(of: declared))
    let read = model.entities[0]
    #expect(read.attribute(named: "size.width")?.formerNames == ["width"])
    #expect(read.attribute(named: "size.height")?.formerNames == ["box.height", "tallness"])
    #expect(read.attribute(named: "size.point.x")?.formerNames == ["x"])
  }

  @Test func `the last name of a part within its composite is its renaming identifier in a file`() throws {
    let formerNames = [
      "depth": ["size.length", "thickness", "box.depth"], "point.y": ["size.point.z"],
      "point.w": ["size.point.inner.w"], "mass": ["weight", "size.load"],
    ]
    let shelf = Entity("Shelf") {
      CompositeAttribute(
        "size",
        parts: formerNames.sorted { $0.key < $1.key }.map { Attribute($0, .double, formerNames: $1) })
    }
    let declared = try ManagedObjectModel(name: "Shelf", entities: [shelf])
    let parts = ModelFile(declared).composites.flatMap(\.parts)
    func identifier(_ name: String) -> String? { parts.first { $0.name == name }?.renamingIdentifier }
    #expect(identifier("depth") == "length" && identifier("y") == "z")
    #expect(identifier("w") == nil && identifier("mass") == nil)
    let read = try reread(declared).entities[0]
    for (name, names) in formerNames { #expect(read.attribute(named: "size.\(name)")?.formerNames == names) }
  }

  @Test func `an attribute derived from a part of a composite is derived in a file`() throws {
    let label = CompositeAttribute("label", parts: [Attribute("text", .string), Attribute("p.q", .string)])
    let declared = try ManagedObjectModel(
      name: "Shelf",
      entities: [
        Entity("Shelf") {
          label
          Attribute("fold", .string, derived: .canonical("label.text"))
          Attribute("small", .string, derived: .lowercase("label.p.q"))
        },
        Entity("Board", parent: "Shelf") { Attribute("large", .string, derived: .uppercase("label.text")) },
      ])
    let model = try reread(declared)
    #expect(facts(of: model) == facts(of: declared))
    #expect(model.entities[1].attribute(named: "large")?.derivation == .uppercase("label.text"))
  }

  @Test func `a derivation from the text of another record is left out of a file's model with a warning`() throws {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="A">
          <attribute name="fold" optional="YES" attributeType="String" derived="YES" \
        derivationExpression="canonical:(b.c)"/>
          <relationship name="b" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="A"/>
        </entity>
        """))
    #expect(try file.model().entities[0].attribute(named: "fold")?.derivation == nil)
    #expect(file.warnings.count == 1)
  }

  @Test func `a derivation that no expression of a file can name is listed as omitted`() throws {
    let entity = Entity("Shelf") {
      Attribute("full-name", .string)
      Attribute("fold", .string, derived: .canonical("full-name"))
    }
    let file = ModelFile(try ManagedObjectModel(name: "Shelf", entities: [entity]))
    #expect(file.omissions.count == 1)
    #expect(file.omissions.first?.contains("'Shelf.fold'") == true)
  }

  @Test func `composites whose names join to one type name keep their own parts in a file`() throws {
    let declared = try ManagedObjectModel(
      name: "Shelf",
      entities: [
        Entity("Shelf") { CompositeAttribute("boardSize", parts: [Attribute("width", .double)]) },
        Entity("ShelfBoard") {
          CompositeAttribute("size", parts: [Attribute("count", .int32), Attribute("place.x", .double)])
          CompositeAttribute("sizePlace", parts: [Attribute("row", .string)])
        },
      ])
    let model = try reread(declared)
    #expect(facts(of: model) == facts(of: declared))
    #expect(model == declared)
  }
}
