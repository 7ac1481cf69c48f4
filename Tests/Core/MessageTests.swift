import CoherenceCore
import Foundation
import Testing

@Suite struct MessageTests {
  typealias Album = QueryLibrary.Album

  @Test(arguments: ["no == 1", "yes == 'x'", "nil == 3", "No != TRUE", "no IN {1, 2}", "null BETWEEN {1, 2}"])
  func `the error of a comparison of constants shows how to write a property with the name of a constant`(
    format: String
  ) {
    let error = #expect(throws: CoherenceError.self) { try FetchPredicate(format: format) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains("write #") == true, "\(error?.message ?? "")")
  }

  @Test func `a marked property with the name of a constant is compared`() throws {
    let no = FetchPredicate.comparison(.path(PropertyPath("no")), .equal, .value(.int(1)))
    #expect(try FetchPredicate(format: "#no == 1") == no)
    #expect(try FetchPredicate(format: "`no` == 1") == no)
    #expect(try FetchPredicate(format: "%K == 1", "no") == no)
    #expect(try FetchPredicate(format: "true == a").description == "TRUE == a")
  }

  @Test func `the length of a text in a Foundation predicate is refused, and the error names the replacement`() {
    let error = #expect(throws: CoherenceError.self) {
      try FetchPredicate(#Predicate<Album> { $0.title.count > 3 })
    }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains("'title'") == true)
    #expect(error?.message.contains("like(") == true, "\(error?.message ?? "")")
  }

  @Test func `an empty text in a Foundation predicate is a comparison`() throws {
    #expect(try FetchPredicate(#Predicate<Album> { $0.title.isEmpty }).description == "title == \"\"")
  }

  @Test func `no description of a configuration or an environment shows a password`() throws {
    let url = try #require(URL(string: "postgresql://user:secret@host:5432/data?password=secret"))
    let configuration = StoreConfiguration(
      type: StoreType("Some"), options: ["connectionString": "password=secret"], location: url)
    let model = try ManagedObjectModel { Entity("A") }
    let environment = StoreEnvironment(
      type: StoreType("Some"), url: url, model: model, options: configuration.options)
    for value in [configuration as Any, environment, [configuration], ["a": environment]] {
      var text = ""
      dump(value, to: &text)
      print(value, String(reflecting: value), to: &text)
      #expect(!text.contains("secret"), "\(text)")
      #expect(text.contains("host"), "\(text)")
    }
  }
}
