import CoherenceCore
import CoherenceModelFiles
import CoherenceStrategies
import Foundation
import Testing

@Suite("The article about model files")
struct ModelFilesGuideTests {
  private let directory = PackageDirectory()

  final class Novel: ManagedObject {}
  final class Writer: ManagedObject {}

  private static let text = MusicFile.model(
    """
    <entity name="Novel" representedClassName="Novel" syncable="YES">
      <attribute name="title" attributeType="String"/>
      <attribute name="year" optional="YES" attributeType="Integer 32"/>
      <attribute name="isOpen" optional="YES" transient="YES" attributeType="Boolean"/>
      <relationship name="writer" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Writer" \
    inverseName="novels" inverseEntity="Writer"/>
    </entity>
    <entity name="Writer" representedClassName="Writer" syncable="YES">
      <relationship name="novels" optional="YES" toMany="YES" deletionRule="Cascade" destinationEntity="Novel" \
    inverseName="writer" inverseEntity="Novel"/>
    </entity>
    <fetchRequest name="since" entity="Novel" predicateString="year &gt;= $YEAR"/>
    """)

  @Test func `a container has the model of the file with its name`() throws {
    let container = try GenericPersistentContainer<ContextStrategy.Mixed>(name: "ShelfModel")
    #expect(container.managedObjectModel.name == "ShelfModel")
    ManagedObjectClasses.register(Novel.self, Writer.self)
    #expect(ManagedObjectClasses.classes(named: "Novel").contains { $0 == Novel.self })
  }

  @Test func `a model of a name is read with the classes of a list`() throws {
    let bundle = try directory.bundle("App.resources")
    try MusicFile.make(Self.text).write(to: directory.file("App.resources/Books.xcdatamodeld"))

    let model = try ManagedObjectModel(named: "Books", in: bundle, classes: [Novel.self, Writer.self])

    #expect(model.name == "Books")
    #expect(try model.entity(for: Writer.self).name == "Writer")
  }

  @Test func `reading a file returns a model, with a warning for each omitted part`() throws {
    let url = directory.file("Books.xcdatamodel")
    try MusicFile.make(Self.text).write(to: url)

    let file = try ModelFile(contentsOf: url)
    let model = try file.model(classes: [Novel.self, Writer.self])
    for sentence in file.warnings { print(sentence) }

    #expect(try model.entity(for: Novel.self).relationship(named: "writer")?.destination.name == "Writer")
    #expect(file.warnings.count == 1)

    let request = try file.fetchRequest(named: "since", for: Novel.self, substituting: ["YEAR": 1990])

    #expect(request.predicate?.description == "year >= 1990")
  }

  @Test func `a model in code becomes a package with versions`() throws {
    let url = directory.file("Books.xcdatamodeld")
    let model = try MusicFile.make(Self.text).model(classes: .generic)

    let file = ModelFile(model)
    try file.write(to: url)

    #expect(try ManagedObjectModel(contentsOf: url) == model)

    let package = try ModelPackage(contentsOf: url)
    let first = try package.version(named: "Books").model(classes: .generic)

    #expect(first == model)
  }
}
