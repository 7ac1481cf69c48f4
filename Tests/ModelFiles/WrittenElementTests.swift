import CoherenceCore
import CoherenceModelFiles
import Testing

@Suite("Model files: written elements")
struct WrittenElementTests {
  private let directory = PackageDirectory()

  /// A file with two elements of each kind in each element, in the form of the editor.
  private static let text = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
        <entity name="A" syncable="YES">
            <attribute name="n" attributeType="String">
                <userInfo>
                    <entry key="j" value="1"/>
                    <entry key="k" value="2"/>
                </userInfo>
                <x1/>
                <x2/>
            </attribute>
            <attribute name="m" attributeType="String"/>
            <relationship name="r" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="A">
                <userInfo>
                    <entry key="j" value="1"/>
                    <entry key="k" value="2"/>
                </userInfo>
                <x3/>
                <x4/>
            </relationship>
            <relationship name="s" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="A">
                <userInfo>
                    <entry key="k" value="2"/>
                </userInfo>
            </relationship>
            <fetchedProperty name="f">
                <fetchRequest name="fetchedPropertyFetchRequest" entity="A">
                    <x5/>
                    <x6/>
                </fetchRequest>
                <x7/>
                <x8/>
            </fetchedProperty>
            <fetchedProperty name="g">
                <fetchRequest name="fetchedPropertyFetchRequest" entity="A"/>
            </fetchedProperty>
            <fetchIndex name="i">
                <fetchIndexElement property="n" type="Binary" order="ascending">
                    <x9/>
                    <y1/>
                </fetchIndexElement>
                <fetchIndexElement property="m" type="Binary" order="ascending"/>
                <y2/>
                <y3/>
            </fetchIndex>
            <fetchIndex name="j">
                <fetchIndexElement property="m" type="Binary" order="ascending"/>
            </fetchIndex>
            <uniquenessConstraints>
                <uniquenessConstraint>
                    <constraint value="n"/>
                    <constraint value="m"/>
                </uniquenessConstraint>
                <uniquenessConstraint>
                    <constraint value="m"/>
                </uniquenessConstraint>
            </uniquenessConstraints>
            <y4/>
            <y5/>
        </entity>
        <entity name="B" syncable="YES">
        </entity>
        <composite name="Box">
            <attribute name="v" attributeType="Double"/>
            <attribute name="w" attributeType="Double"/>
            <y6/>
            <y7/>
        </composite>
        <composite name="Crate">
            <attribute name="v" attributeType="Double"/>
        </composite>
        <fetchRequest name="all" entity="A"/>
        <fetchRequest name="some" entity="B"/>
        <configuration name="C">
            <memberEntity name="A"/>
            <memberEntity name="B"/>
            <y8/>
            <y9/>
        </configuration>
        <configuration name="D">
            <memberEntity name="B"/>
        </configuration>
        <z1/>
        <z2>
            <z3/>
            <z4/>
        </z2>
    </model>
    """

  @Test func `every element of each kind is written back in its place`() throws {
    #expect(try MusicFile.make(Self.text).xml == Self.text)
  }

  @Test func `every unknown element has a warning, and the elements within it have none`() throws {
    let warnings = try MusicFile.make(Self.text).warnings
    let names = (1...9).flatMap { ["x\($0)", "y\($0)"] } + ["z1", "z2"]
    for name in names { #expect(warnings.count(where: { $0.contains("'\(name)'") }) == 1, "\(name)") }
    #expect(warnings.count == names.count, "\(warnings)")
  }

  // MARK: Models in code

  /// The file of a model with one entity.
  private func file(_ entity: Entity) throws -> ModelFile {
    ModelFile(try ManagedObjectModel(name: "M", entities: [entity]))
  }

  @Test func `every number and every truth value of a file has a scalar type`() throws {
    let entity = Entity("A") {
      Attribute("a", .int16)
      Attribute("b", .int32)
      Attribute("c", .int64)
      Attribute("d", .float)
      Attribute("e", .double)
      Attribute("f", .bool)
    }
    let attributes = try file(entity).entities[0].attributes
    #expect(attributes.map(\.usesScalarValueType) == Array(repeating: true, count: 6))
  }

  @Test func `a weak reference keeps its entity in a file`() throws {
    let entity = Entity("A") {
      Attribute("near", .weakReference(to: "A"), optional: true)
      Attribute("far", .weakReference(to: nil), optional: true)
    }
    let read = try MusicFile.make(try file(entity).xml).model().entities[0]
    #expect(read.attribute(named: "near")?.type == .weakReference(to: "A"))
    #expect(read.attribute(named: "far")?.type == .weakReference(to: nil))
  }

  @Test func `one former name is the renaming identifier, and no setting of the user info`() throws {
    let entity = Entity("A", formerNames: ["Z"]) { Attribute("n", .string, formerNames: ["m"]) }
    let written = try file(entity).entities[0]
    #expect(written.renamingIdentifier == "Z" && written.userInfo == [:])
    #expect(written.attributes[0].renamingIdentifier == "m" && written.attributes[0].userInfo == [:])
  }

  @Test func `a relationship to one record has at most one member in a file`() throws {
    let entity = Entity("A") { Relationship("r", toOne: "A", inverse: nil) }
    #expect(try file(entity).entities[0].relationships.map(\.maximumCount) == [1])
  }

  @Test func `parts with one prefix become one composite type`() throws {
    let entity = Entity("Shelf") {
      CompositeAttribute(
        "box", parts: [Attribute("p.x", .double), Attribute("p.y", .double), Attribute("width", .double)])
    }
    let composites = try file(entity).composites
    #expect(composites.map(\.name) == ["ShelfBoxP", "ShelfBox"])
    #expect(composites.map { $0.parts.map(\.name) } == [["x", "y"], ["p", "width"]])
  }

  @Test func `indexes whose properties join to one name get two names`() throws {
    let entity = Entity("A", indexes: [["a", "b"], ["aAndB"]]) {
      Attribute("a", .int64)
      Attribute("b", .int64)
      Attribute("aAndB", .int64)
    }
    #expect(try file(entity).entities[0].indexes.map(\.name) == ["byAAndB", "byAAndB2"])
  }

  @Test func `an inherited fetched property is written once, with the settings of its request`() throws {
    let model = try ManagedObjectModel(
      name: "M",
      entities: [
        Entity("A") {
          Attribute("n", .int64)
          FetchedProperty("all", of: "A")
          FetchedProperty("own", of: "A", where: "n == 1", limit: 3, includesSubentities: false)
        },
        Entity("B", parent: "A") {},
      ])
    let written = ModelFile(model).entities.map(\.fetchedProperties)
    #expect(written.map { $0.map(\.name) } == [["all", "own"], []])
    #expect(written[0][0].request?.includesSubentities == nil)
    let request = written[0][1].request
    #expect(request?.includesSubentities == false && request?.fetchLimit == 3 && request?.predicate == "n == 1")
  }

  @Test func `a file with omitted parts is written without them`() throws {
    let entity = Entity("A") {
      Attribute("n", .int64)
      FetchedProperty("f", of: "A", sortedBy: [SortKey("n")])
    }
    let file = try file(entity)
    #expect(file.omissions.count == 1)
    let url = directory.file("M.xcdatamodel")
    try file.write(to: url)
    #expect(try ModelFile(contentsOf: url).entities == file.entities)
  }
}
